"""Both reflectors together, against the scripted API server."""

from __future__ import annotations

from controller.cache.cluster import ClusterCache
from controller.cache.informers import Informers
from gpupods.identity import PodRef
from gpupods.kube.access import KubeAccess
from tests.failures.kube_script import ScriptedApiServer, hang, pod, until


async def test_synced_when_both_are_listed() -> None:
    async with ScriptedApiServer() as server:
        await server.put(pod("first"))
        cache = ClusterCache()
        informers = Informers(KubeAccess.without_credentials(server.url), cache)
        assert cache.why_not_synced() == "pods: not listed yet; nodes: not listed yet"
        await informers.start()
        try:
            assert await informers.wait_synced(20)
            assert cache.why_not_synced() == ""
            assert cache.pod_by_ref(PodRef("team", "first")) is not None
            await until(lambda: informers.status()[0].watches == 1, "a watch of pods")
            pods, nodes = informers.status()
            assert (pods.kind, pods.lists, pods.synced) == ("pods", 1, True)
            assert (nodes.kind, nodes.synced) == ("nodes", True)
        finally:
            await informers.stop()
        assert cache.pod_by_ref(PodRef("team", "first")) is not None, "it keeps what it has"


async def test_waiting_ends_when_the_time_is_over() -> None:
    async with ScriptedApiServer() as server:
        server.next_lists.append(hang)
        cache = ClusterCache()
        informers = Informers(KubeAccess.without_credentials(server.url), cache)
        await informers.start()
        try:
            await until(lambda: informers.status()[1].synced, "the nodes")
            assert not await informers.wait_synced(0.01)
            assert cache.why_not_synced() == "pods: not listed yet"
        finally:
            await informers.stop()


async def test_stopping_before_the_server_is_there() -> None:
    informers = Informers(KubeAccess.without_credentials("http://127.0.0.1:1"), ClusterCache())
    await informers.start()
    await until(lambda: informers.status()[0].failures > 0, "a failure")
    await informers.stop()
