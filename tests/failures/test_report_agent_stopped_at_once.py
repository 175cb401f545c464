"""The agent is stopped right after it has changed its Node: nobody else tells of that change."""

from tests.reportbed import bed, reporting


async def test_the_events_are_there_all_the_same() -> None:
    async with bed() as there:
        async with reporting(there) as agent:
            agent.read()
            agent.xid(142, 0)
            agent.xid(142, 1)
            await there.until(lambda: agent.reporter.status.written)
        assert there.ids == "0,1"
        assert [each["reason"] for each in there.events] == ["GpuUnfit", "GpuUnfit"]
