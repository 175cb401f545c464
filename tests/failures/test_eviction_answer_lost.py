"""The answer to an eviction is lost: it counts as one, and nobody is evicted in its stead."""

from __future__ import annotations

from controller.eviction.edge import Outcome, PodEvictions, Refusal
from gpupods.identity import PodRef, PodUid
from gpupods.kube.failures import UnreachableError
from tests.failures.evicting import evicting


class AnswersAreLost(PodEvictions):
    """The API server does what it is asked to, or not, and is heard of no more."""

    asked = 0
    does_it = True

    async def evict(self, ref: PodRef, uid: PodUid) -> Outcome | Refusal:
        type(self).asked += 1
        if self.does_it:
            await super().evict(ref, uid)
        raise UnreachableError("no answer in time")


class NothingIsDone(AnswersAreLost):
    asked = 0
    does_it = False


async def test_no_more_are_evicted_than_are_allowed() -> None:
    async with evicting(per_minute=2, edge=AnswersAreLost) as at:
        await at.make_unfit(0, 1, 2, 3)
        before = len(at.run.truth.pods)
        await at.long_after()
        await at.later(30.0)
        assert len(at.run.truth.pods) == before - 2
        await at.later(30.0)
        assert len(at.run.truth.pods) == before - 4


async def test_one_that_was_not_evicted_is_tried_again() -> None:
    async with evicting(per_minute=1, edge=NothingIsDone) as at:
        await at.make_unfit(1)
        before = len(at.run.truth.pods)
        await at.long_after()
        await at.later(30.0)
        assert NothingIsDone.asked == 1
        await at.later(30.0)
        assert NothingIsDone.asked == 2
        assert len(at.run.truth.pods) == before
