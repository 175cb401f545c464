"""A PodDisruptionBudget forbids an eviction: the pod stays, is told why, and is tried again."""

from __future__ import annotations

from tests.failures.evicting import SERVING, TRAINING, evicting
from tests.simulator.running import patiently


async def test_the_pod_stays_until_the_budget_allows_it() -> None:
    async with evicting() as at:
        pod, other = at.pod(SERVING), at.pod(TRAINING)
        assert pod is not None
        assert other is not None
        protected = at.run.cluster.apiserver.faults.protected
        protected.add(str(pod.ref))
        await at.make_unfit(1)
        await at.long_after()
        assert at.pod(SERVING) is pod
        assert at.pod(TRAINING) is None, "the budget of one pod protects no other"
        (event,) = await at.events(pod.ref)
        assert event[0] == "EvictionRefused"
        assert "GPU 1" in event[1]
        assert "disruption budget" in event[1]

        asked = len([each for each in at.run.cluster.apiserver.requests if "/eviction" in each])
        await at.later(10.0)
        again = len([each for each in at.run.cluster.apiserver.requests if "/eviction" in each])
        assert again == asked, "it is not tried again at once"
        await at.later(10.0)
        assert len(await at.events(pod.ref)) == 1, "the same is not told twice"

        protected.clear()
        async for _ in patiently():
            await at.later(60.0)
            if at.pod(SERVING) is None:
                break
        assert at.pod(SERVING) is None
        reasons = {reason for reason, _ in await at.events(pod.ref)}
        assert reasons == {"EvictionRefused", "EvictedFromUnfitGpu"}
