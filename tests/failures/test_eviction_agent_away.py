"""The agent of a node with an unfit GPU cannot be asked: nobody is evicted on its old word."""

from __future__ import annotations

from simulator.changes import set_driver_fault
from simulator.kinds import DriverFault
from tests.failures.evicting import SERVING, evicting


async def test_nobody_is_evicted_until_it_answers_again() -> None:
    async with evicting() as at:
        pod = at.pod(SERVING)
        await at.make_unfit(1)
        await at.run.cluster.agents.stop_one(at.node.name)
        await at.long_after()
        await at.later(60.0)
        assert at.pod(SERVING) is pod
        assert not any("/eviction" in each for each in at.run.cluster.apiserver.requests)


async def test_nor_while_its_driver_cannot_tell_what_runs_there() -> None:
    async with evicting() as at:
        pod = at.pod(SERVING)
        await at.make_unfit(1)
        set_driver_fault(at.node, DriverFault.HANGS)
        await at.long_after()
        await at.later(60.0)
        await at.later(60.0)
        assert at.pod(SERVING) is pod
