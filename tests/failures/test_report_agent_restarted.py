"""The agent starts again: nothing is cleared before the GPUs are judged, nothing is told twice."""

from pathlib import Path

from nodeagent.health.observations import CaughtUp, DriverSilent, Presence, Reading
from nodeagent.health.state import StateFolder
from tests.reportbed import WELL, bed, reporting, xid

LOST = Reading(Presence.LOST)


async def test_an_old_report_stays_until_the_driver_has_been_heard() -> None:
    async with bed(ids="1") as there, reporting(there) as agent:
        await agent.follows()
        await there.settled()
        assert there.ids == "1"
        agent.monitor.tell(DriverSilent(Presence.DRIVER_HANGS, "nothing was heard"))
        await there.settled()
        assert there.ids == "1", "of GPUs that were never seen nothing is known"
        agent.read()
        await there.until_ids(None)


async def test_it_stays_until_the_kernel_log_has_been_read_too() -> None:
    async with bed(ids="1") as there:
        monitor = there.monitor()
        monitor.add_source(_Silent(), backlog="kernel log")
        async with reporting(there, monitor) as agent:
            await agent.follows()
            agent.read()
            await there.settled()
            assert there.ids == "1"
            monitor.tell(xid(46, 0, there.clock.boot_s))
            await there.until_ids("0,1")
            monitor.tell(CaughtUp("kernel log"))
            await there.until_ids("0")


async def test_what_is_told_already_is_not_told_again(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    async with bed() as there:
        async with reporting(there, there.monitor(folder)) as agent:
            agent.read(WELL, LOST)
            await there.until_ids("1")
            await there.until(lambda: len(there.events) == 1)
        before = there.patches
        async with reporting(there, there.monitor(folder)) as after:
            await after.follows()
            after.read(WELL, LOST)
            there.heartbeat()
            await there.settled()
            assert there.patches == before
            assert len(there.events) == 1
            after.xid(142, 0)
            await there.until(lambda: len(there.events) > 1)
            await there.settled()
        assert [each["message"][:5] for each in there.events] == ["GPU 1", "GPU 0"]


async def test_a_driver_that_hangs_at_the_start_takes_all_known_gpus_out(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    async with bed() as there:
        async with reporting(there, there.monitor(folder)) as agent:
            agent.read()
            await there.settled()
        async with reporting(there, there.monitor(folder)) as after:
            after.monitor.tell(DriverSilent(Presence.DRIVER_HANGS, "nothing was heard"))
            await there.until_ids("0,1")


class _Silent:
    async def watch(self, tell: object) -> None:
        """Tells nothing by itself."""
