"""Two agents on one node: the second writes nothing, and goes on where the first ends."""

from pathlib import Path

from nodeagent.health.observations import Reading
from nodeagent.health.state import StateFolder
from tests.reportbed import WELL, bed, reporting


async def test_the_second_leaves_the_node_to_the_first(tmp_path: Path) -> None:
    async with bed() as there:
        async with reporting(there, there.monitor(StateFolder(tmp_path))) as first:
            first.read()
            first.xid(142, 0)
            await there.until_ids("0")
            second = reporting(there, there.monitor(StateFolder(tmp_path)))
            agent = await second.__aenter__()
            agent.read()  # it has not heard the XID
            await there.until(lambda: agent.reporter.status.another_agent)
            await there.settled()
            assert there.ids == "0"
            assert agent.reporter.status.written == 0
        await there.until(lambda: not agent.reporter.status.another_agent)
        agent.read(WELL, Reading(WELL.presence, 1))
        await there.until_ids("0,1")
        assert not agent.monitor.verdicts[0].fit, "what the first knew is not lost"
        await second.__aexit__(None, None, None)


async def test_what_the_first_has_told_is_not_told_again(tmp_path: Path) -> None:
    async with bed() as there:
        async with reporting(there, there.monitor(StateFolder(tmp_path))) as first:
            second = reporting(there, there.monitor(StateFolder(tmp_path)))
            agent = await second.__aenter__()
            await agent.follows()
            first.read()
            first.xid(142, 0)
            await there.until(lambda: len(there.events) == 1)
            agent.read()
        await there.until(lambda: not agent.reporter.status.another_agent)
        agent.xid(142, 1)
        await there.until_ids("0,1")
        await there.until(lambda: agent.reporter.status.events_written)
        await there.settled()
        assert [each["message"][:5] for each in there.events] == ["GPU 0", "GPU 1"]
        await second.__aexit__(None, None, None)
