"""The wall clock jumps: nothing is fit or unfit for it, and times are measured as before."""

import itertools
from dataclasses import replace
from pathlib import Path

from nodeagent.health.condition import Now
from nodeagent.health.node_clock import node_now
from tests.driverprocess import FIRST, SECOND
from tests.fakedriver.faults import Event
from tests.healthwatch import unfit, watching

YEAR_S = 365 * 86_400.0


def jumping() -> Now:
    """A year ahead at every second look, and two back at the others."""
    now = node_now()
    return replace(now, wall=now.wall + next(_JUMPS))


_JUMPS = itertools.cycle((YEAR_S, -2 * YEAR_S, 0.0))


async def test_a_year_ahead_is_no_dwell_and_a_year_back_does_not_hold_it_up(
    tmp_path: Path,
) -> None:
    async with watching(tmp_path, now=jumping) as watched:
        watched.fake.post(Event.xid(FIRST, 79), Event.xid(SECOND, 999))
        await watched.until(lambda them: unfit(them) == [0, 1])
        await watched.until(lambda them: unfit(them) == [0])
        await watched.readings(5)
        assert unfit(watched.verdicts) == [0]


async def test_a_long_dwell_is_not_over_for_it(tmp_path: Path) -> None:
    policy = "[recovery]\ndwell_s = 3600\n"
    async with watching(tmp_path, now=jumping, policy=policy) as watched:
        watched.fake.post(Event.xid(FIRST, 999))
        await watched.until(unfit)
        await watched.readings(10)
        assert unfit(watched.verdicts) == [0]
