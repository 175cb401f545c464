"""The API server is away while GPUs change: what is true then is there when it is back."""

from pathlib import Path

from nodeagent.health.state import StateFolder
from tests.reportbed import bed, reporting


async def test_all_that_happened_meanwhile_is_in_one_patch() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        await agent.follows()
        await there.server.go_away()
        agent.xid(79, 0)
        await there.until(lambda: agent.reporter.status.failed > 3)
        agent.xid(79, 1)
        assert agent.reporter.status.problem
        await there.server.come_back()
        await there.until_ids("0,1")
        await there.until(lambda: agent.reporter.status.problem == "")
        assert agent.reporter.status.written == 1


async def test_what_was_unwritten_is_written_by_the_next_agent(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    async with bed() as there:
        async with reporting(there, there.monitor(folder)) as agent:
            agent.read()
            await agent.follows()
            await there.server.go_away()
            agent.xid(79, 1)
            await there.until(lambda: agent.reporter.status.failed)
        async with reporting(there, there.monitor(folder)) as after:
            await there.until(lambda: after.reporter.status.problem)
            await there.server.come_back()
            await there.until_ids("1")
            assert not after.monitor.judged, "what is remembered does not wait for the driver"


async def test_it_is_away_from_the_start() -> None:
    async with bed() as there:
        await there.server.go_away()
        async with reporting(there) as agent:
            agent.read()
            agent.xid(79, 0)
            await there.until(lambda: agent.reporter.status.problem)
            assert not agent.reporter.status.follows
            await there.server.come_back()
            await there.until_ids("0")


async def test_half_open_connections_are_given_up() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        await agent.follows()
        there.server.faults.set_half_open(half_open=True)
        agent.xid(79, 0)
        await there.settled()
        there.server.faults.set_half_open(half_open=False)
        await there.until_ids("0")
