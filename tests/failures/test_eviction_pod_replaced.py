"""A pod is replaced by another of its name right before it is evicted: the new one stays."""

from __future__ import annotations

from typing import Any

from controller.eviction.edge import Outcome, PodEvictions, Refusal
from gpupods.identity import PodUid
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import Json, KubeApi
from gpupods.kube.failures import RefusedError
from tests.failures.evicting import SERVING, evicting


async def test_the_eviction_is_of_one_uid() -> None:
    async with evicting() as at:
        pod = at.pod(SERVING)
        assert pod is not None
        edge = PodEvictions(at.api)
        assert await edge.evict(pod.ref, PodUid("of-the-one-before")) is Outcome.GONE
        assert at.pod(SERVING) is pod
        assert await edge.evict(pod.ref, PodUid(pod.uid)) is Outcome.EVICTED
        assert at.pod(SERVING) is None
        assert await edge.evict(pod.ref, PodUid(pod.uid)) is Outcome.GONE
        assert await edge.read(pod.ref) is None


async def test_a_refusal_says_why() -> None:
    async with evicting() as at:
        pod = at.pod(SERVING)
        assert pod is not None
        at.run.cluster.apiserver.faults.denied.add(("create", "pods/eviction"))
        refusal = await PodEvictions(at.api).evict(pod.ref, PodUid(pod.uid))
        assert isinstance(refusal, Refusal)
        assert "create of pods/eviction" in refusal.why
        assert at.pod(SERVING) is pod


class Conflicting(KubeApi):
    """Each eviction comes upon a change of the pod."""

    async def ask(self, method: str, path: str, *args: Any, **options: Any) -> Json:
        if path.endswith("/eviction"):
            raise RefusedError(409, "it has been modified")
        return await super().ask(method, path, *args, **options)


async def test_a_conflict_over_the_same_pod_is_a_refusal() -> None:
    """Somebody changed the pod while the server was at it: it is still there."""
    async with evicting() as at:
        pod = at.pod(SERVING)
        assert pod is not None
        api = Conflicting(KubeAccess.load(str(at.run.cluster.kubeconfig)))
        try:
            refusal = await PodEvictions(api).evict(pod.ref, PodUid(pod.uid))
        finally:
            await api.close()
        assert refusal == Refusal("it has been modified", 0.0)
        assert at.pod(SERVING) is pod
