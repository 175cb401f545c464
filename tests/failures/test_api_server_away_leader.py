"""The API server is away: the leader ceases in time, and one leads again when it is back."""

from __future__ import annotations

from gpupods.kube.failures import RefusedError, UnreachableError
from tests.failures.electing import electing

AWAY = UnreachableError("GET https://10.96.0.1/: no answer in time")


async def test_nobody_leads_while_nobody_can_know() -> None:
    async with electing() as election:
        await election.time.advance(5)
        for each in election.all:
            each.lease.fails = AWAY
        await election.time.advance(2.8)
        assert election.leaders() == []
        assert election.first.changes == [True, False], "and that is told"
        assert "no answer in time" in election.first.elector.standing()
        await election.time.advance(600)
        assert election.leaders() == []
        for each in election.all:
            each.lease.fails = None
        await election.time.advance(4)
        assert len(election.leaders()) == 1


async def test_a_leader_that_is_cut_off_ceases_before_another_begins() -> None:
    async with electing() as election:
        await election.time.advance(5)
        election.first.lease.fails = AWAY
        assert 2 < await election.until_led_by_another(election.first) < 5
        assert not election.first.leads()
        (leader,) = election.leaders()
        election.first.lease.fails = None
        await election.time.advance(30)
        assert election.leaders() == [leader], "who comes back waits"


async def test_one_failed_renewal_costs_nothing() -> None:
    async with electing() as election:
        await election.time.advance(5)
        election.first.lease.fails = AWAY
        await election.time.advance(0.8)
        election.first.lease.fails = None
        await election.time.advance(30)
        assert election.first.changes == [True]


async def test_a_server_that_asks_for_a_pause_gets_it_and_the_end_is_still_told() -> None:
    async with electing() as election:
        await election.time.advance(5)
        busy = RefusedError(429, "too many requests", retry_after_s=20.0)
        election.first.lease.fails = busy
        await election.time.advance(3)
        assert election.first.changes == [True, False]


async def test_a_missing_right_is_named() -> None:
    async with electing() as election:
        election.second.lease.fails = RefusedError(403, "PUT leases: 403 forbidden: allow update")
        await election.time.advance(1)
        assert "403 forbidden: allow update" in election.second.elector.standing()
        assert "pod-a leads" in election.second.elector.standing()
