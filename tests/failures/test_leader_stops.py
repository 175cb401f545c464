"""The leader is stopped in good order: it gives the lease back, and another one leads at once."""

from __future__ import annotations

from controller.leader.election import Terms
from controller.leader.lease import NOBODY
from gpupods.kube.failures import UnreachableError
from tests.failures.electing import electing


async def test_another_leads_at_its_next_look() -> None:
    terms = Terms(15)
    async with electing(terms) as election:
        await election.time.advance(60)
        await election.first.elector.stop()
        assert election.leaders() == []
        assert election.first.changes == [True, False]
        assert election.server.lease is not None
        assert election.server.lease.holder == NOBODY
        took_s = await election.until_led_by_another(election.first)
        assert took_s <= terms.look_every_s + 0.05, "nobody waits for the end of the lease"


async def test_a_standby_that_stops_leaves_the_lease_alone() -> None:
    async with electing() as election:
        await election.second.elector.stop()
        assert election.server.lease is not None
        assert election.server.lease.holder == election.first.identity
        await election.time.advance(10)
        assert election.leaders() == [election.first.identity]


async def test_if_it_cannot_be_given_back_the_others_wait_for_its_end() -> None:
    async with electing() as election:
        election.first.lease.fails = UnreachableError("no route to host")
        await election.first.elector.stop()
        assert election.leaders() == []
        assert 2 < await election.until_led_by_another(election.first) < 5
