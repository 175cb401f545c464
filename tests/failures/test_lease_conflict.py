"""Several want the lease at once, or somebody else writes it: never two lead."""

from __future__ import annotations

import asyncio

from controller.leader.election import Terms
from controller.leader.lease import Claim, Lease
from tests.failures.electing import Candidate, Election3, electing


async def test_of_all_that_start_at_the_same_moment_one_leads() -> None:
    election = Election3(Terms(3))
    await asyncio.gather(*(each.elector.start() for each in election.all))
    await election.time.settle()
    assert len(election.leaders()) == 1
    for _ in range(100):
        await election.time.advance(0.1)
        assert len(election.leaders()) == 1
    for each in election.all:
        await each.elector.stop()


async def test_a_leader_whose_lease_another_has_taken_ceases_at_its_next_renewal() -> None:
    async with electing() as election:
        await election.time.advance(5)
        taken = take(election, "somebody_9")
        await election.time.advance(0.75)
        assert election.leaders() == []
        assert "somebody leads" in election.first.elector.standing()
        assert election.server.lease == taken, "it does not take it back"
        await election.time.advance(5)
        assert len(election.leaders()) == 1, "who never renews it has it no longer"


async def test_a_lease_that_was_deleted_is_made_again_by_one() -> None:
    async with electing() as election:
        await election.time.advance(5)
        election.server.lease = None
        for _ in range(100):
            await election.time.advance(0.1)
            assert len(election.leaders()) <= 1
        assert len(election.leaders()) == 1


async def test_replicas_of_two_settings_keep_to_the_holders() -> None:
    """A rolling update that shortens the lease: the old leader was promised more."""
    async with electing(Terms(15)) as election:
        hasty = Candidate("pod-d", election.server, election.time, Terms(2))
        await hasty.elector.start()
        await election.time.advance(60)
        assert election.leaders() == [election.first.identity]
        assert not hasty.leads()
        await election.first.crash()
        await election.second.crash()
        await election.third.crash()
        await election.time.advance(10.5)
        assert not hasty.leads()
        await election.time.advance(6)
        assert hasty.leads()
        await hasty.elector.stop()


def take(election: Election3, holder: str) -> Lease:
    """Write the lease as a candidate would that does not keep to the rules."""
    return election.server.write(Claim(holder, 3, 7, anew=True, over=election.server.lease))
