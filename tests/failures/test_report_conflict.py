"""The API server answers a patch with a conflict: it is sent again, and the news is not lost."""

from tests.reportbed import bed, reporting


async def test_it_is_tried_again() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        await agent.follows()
        there.server.faults.refuse_next(409, "Conflict", times=3)
        agent.xid(79, 1)
        await there.until(lambda: agent.reporter.status.written)
        assert there.ids == "1"
        assert agent.reporter.status.failed == 3
        assert agent.reporter.status.problem == ""
        assert agent.reporter.status.written == 1


async def test_others_who_write_to_the_node_at_the_same_time_lose_nothing() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        await agent.follows()
        for index in (0, 1):
            there.heartbeat()
            there.annotate(overrides="{}")
            agent.xid(79, index)
            there.heartbeat()
            await there.until(lambda: str(index) in (there.ids or ""))  # noqa: B023 - now
        assert there.ids == "0,1"
        assert there.annotations["gpupods.io/gpu-overrides"] == "{}"
        assert [each["type"] for each in there.node["status"]["conditions"]] == [
            "Ready",
            "GpuUnfit",
        ]
