"""The leader is killed: another one leads within 5 s, and not before the lease is over."""

from __future__ import annotations

import pytest

from controller.leader.election import Terms
from tests.failures.electing import Candidate, electing


@pytest.mark.parametrize("after_s", [10 + tenth / 10 for tenth in range(8)])
async def test_another_takes_over_within_5_s(after_s: float) -> None:
    async with electing() as election:
        await election.time.advance(after_s)
        assert election.leaders() == [election.first.identity]
        await election.first.crash()
        took_s = await election.until_led_by_another(election.first)
        assert took_s < 5
        assert took_s > 2, "the lease was not over yet"
        assert len(election.leaders()) == 1
        assert election.server.lease is not None
        assert election.server.lease.transitions == 1


async def test_the_new_leader_stays() -> None:
    async with electing() as election:
        await election.first.crash()
        await election.until_led_by_another(election.first)
        (leader,) = election.leaders()
        for _ in range(200):
            await election.time.advance(0.1)
            assert election.leaders() == [leader]


async def test_a_crash_of_a_standby_changes_nothing() -> None:
    async with electing() as election:
        await election.second.crash()
        await election.time.advance(30)
        assert election.leaders() == [election.first.identity]
        assert election.first.changes == [True]


async def test_a_restarted_one_waits_like_any_other() -> None:
    """In the same pod, but another process: what its predecessor held is not its own."""
    async with electing() as election:
        await election.second.crash()
        await election.third.crash()
        await election.first.crash()
        again = Candidate("pod-a", election.server, election.time, Terms(3), process=2)
        await again.elector.start()
        await election.time.advance(2.9)
        assert not again.leads()
        await election.time.advance(1)
        assert again.leads()
        await again.elector.stop()
