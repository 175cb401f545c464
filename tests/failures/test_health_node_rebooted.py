"""The node is restarted: what a restart ends is ended, once the GPU has stayed clean since."""

from dataclasses import replace
from pathlib import Path

from nodeagent.health.condition import Now
from nodeagent.health.node_clock import node_now
from tests.driverprocess import FIRST, SECOND
from tests.fakedriver.faults import Event
from tests.healthwatch import unfit, watching


def after_a_reboot() -> Now:
    """The same clocks: only the boot id says that it was one."""
    return replace(node_now(), boot_id="the next boot")


async def test_off_the_bus_ends_and_what_a_person_ends_does_not(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        watched.fake.post(Event.xid(FIRST, 79), Event.xid(SECOND, 142))
        await watched.until(lambda them: unfit(them) == [0, 1])
    async with watching(tmp_path, state=True, fake=watched.fake, now=after_a_reboot) as after:
        assert 0 in unfit(after.verdicts), "a new boot alone is no evidence"
        await after.until(lambda them: unfit(them) == [1])
        await after.readings(10)
        assert unfit(after.verdicts) == [1]


async def test_one_that_is_still_lost_stays_unfit(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        watched.fake.post(Event.xid(FIRST, 79))
        watched.fake.change(lambda now: now.with_gpu(FIRST, lost=True))
        await watched.until(lambda them: them[0].xid == 79 and bool(them[0].others))
    async with watching(tmp_path, state=True, fake=watched.fake, now=after_a_reboot) as after:
        await after.readings(10)
        assert unfit(after.verdicts) == [0]
        after.fake.change(lambda now: now.with_gpu(FIRST, lost=False))
        await after.until(lambda them: not unfit(them))
