"""The disk has become read-only, and the agent starts again: what it knew is read all the same."""

from pathlib import Path

from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.state import LOCK, StateFolder
from tests.healthwatch import unfit
from tests.reportbed import WELL, NodeClock, listed, xid


async def test_a_gpu_that_waits_for_a_person_is_unfit_still(tmp_path: Path) -> None:
    clock = NodeClock()
    before = HealthMonitor(now=clock, folder=StateFolder(tmp_path))
    await before.start()
    before.tell(listed(WELL, WELL))
    before.tell(xid(142, 1, clock.boot_s))
    await before.stop()
    (tmp_path / LOCK).unlink()
    (tmp_path / LOCK).mkdir()  # root may write wherever a disk lets it
    after = HealthMonitor(now=clock, folder=StateFolder(tmp_path))
    await after.start()
    assert unfit(after.verdicts) == [1]
    (problem,) = after.problems
    assert f"{tmp_path} cannot be written" in problem
    await after.stop()
