"""The cluster is not listed yet: no verdict, but what is waited for; others do not wait."""

from __future__ import annotations

from controller.cache.cluster import PODS, ClusterCache
from controller.extender.binding import Binder
from controller.extender.leadership import Leadership
from controller.extender.service import Extender
from tests.failures.extending import Extended, extending

WHY = "the cluster is not known yet: pods: the API server refuses"


def unlisted(extended: Extended) -> None:
    cache = ClusterCache()
    cache.report_waiting(PODS, "the API server refuses")
    cache.report_listed("nodes")
    leadership = Leadership(extended.replicas, 0.0)
    binder = Binder(cache, extended.api, leadership, lambda: "", 1.0)
    extended.extender = Extender(cache, binder, leadership, extended.leader_pod)


async def test_nothing_is_decided() -> None:
    async with extending() as extended:
        unlisted(extended)
        pod = extended.pod("first", memory=1)
        assert (await extended.filter(pod))["Error"] == WHY
        assert await extended.bind("first") == WHY
        assert await extended.predicate(pod) == {"status": WHY, "code": 1}
        assert (await extended.volcano_prioritize(pod, "node-1"))["errorMessage"] == WHY
        assert extended.server.asked == []


async def test_a_pod_without_gpus_does_not_wait() -> None:
    async with extending() as extended:
        unlisted(extended)
        assert (await extended.filter(extended.pod("plain")))["NodeNames"] == ["node-1"]
