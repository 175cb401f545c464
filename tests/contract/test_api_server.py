"""What the controller reads from an API server: kube-apiserver and the simulator's twin alike."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from collections.abc import AsyncIterator, Callable

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.informers import NODE_RESOURCE, POD_RESOURCE, Informers
from controller.cache.reading import pod_record
from controller.cache.records import NodeRecord, Owner
from gpupods.addresses import HostPort
from gpupods.identity import ContainerId, NodeName, PodRef, PodUid
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.kube.encoding import Resource
from gpupods.kube.failures import GoneError, refusal_in_stream
from gpupods.kube.json_encoding import JsonEncoding
from gpupods.kube.listing import Listing
from gpupods.kube.objects import Pod
from gpupods.kube.reflector import FROM_THE_STORE, Pace
from simulator.apiserver.server import SimulatedApiServer
from simulator.model import Cluster
from tests.contract.kube_clusters import KubeCluster, RealKubeCluster, SimulatedKubeCluster
from tests.realparts import objects
from tests.realparts.objects import ContainerStatus, Json

DEADLINE_S = 60.0
PACE = Pace(page_size=3, first_pause_s=0.05, longest_pause_s=0.5)


@pytest.fixture(params=["simulated", pytest.param("kube-apiserver", marks=pytest.mark.e2e)])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[KubeCluster]:
    """The simulator's API server, and a real one."""
    if request.param == "kube-apiserver":
        yield RealKubeCluster(request.getfixturevalue("apiserver"))
        return
    server = SimulatedApiServer(Cluster(random.Random(1)))
    await server.start(HostPort("127.0.0.1", 0))
    try:
        yield SimulatedKubeCluster(server)
    finally:
        await server.stop()


@pytest.fixture
def unique() -> str:
    """Part of every name that a test makes: the real server keeps what others have made."""
    return uuid.uuid4().hex[:8]


@contextlib.asynccontextmanager
async def informed(cluster: KubeCluster) -> AsyncIterator[tuple[ClusterCache, Informers]]:
    cache = ClusterCache()
    informers = Informers(cluster.access(), cache, PACE)
    await informers.start()
    try:
        assert await informers.wait_synced(DEADLINE_S), cache.why_not_synced()
        yield cache, informers
    finally:
        await informers.stop()


async def until(condition: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not condition():  # noqa: ASYNC110 - the cache tells nobody of pods
                await asyncio.sleep(0.005)
    except TimeoutError:
        pytest.fail(f"waited {DEADLINE_S:g} s in vain: {what}")


def running_pod(unique: str, name: str = "web-0") -> Json:
    return objects.pod(f"team-{unique}", name, node_name=f"node-{unique}")


def ids_of(cache: ClusterCache, uid: str) -> set[tuple[str, str]]:
    pod = cache.pod_by_uid(PodUid(uid))
    return set(pod.containers) if pod else set()


async def test_all_that_is_there_is_listed_over_several_pages(
    cluster: KubeCluster, unique: str
) -> None:
    uids = {await cluster.create_pod(running_pod(unique, f"web-{number}")) for number in range(8)}
    await cluster.put_node(f"node-{unique}", "10.0.0.1", "fd00::1")
    async with informed(cluster) as (cache, informers):
        assert uids <= cache.pod_uids()
        node = NodeName(f"node-{unique}")
        assert {pod.uid for pod in cache.pods_on(node)} == uids
        found = cache.node(node)
        assert found is not None
        assert found.internal_ips == ("10.0.0.1", "fd00::1")
        assert all(status.undecodable == 0 for status in informers.status())


@pytest.mark.parametrize("encodings", ["as wanted", "JSON"])
async def test_pages_are_read_one_after_another(
    cluster: KubeCluster, unique: str, encodings: str
) -> None:
    """From the store, not from memory: there the server may answer with all at once."""
    uids = {await cluster.create_pod(running_pod(unique, f"web-{number}")) for number in range(8)}
    json = Resource("pods", POD_RESOURCE.path, (JsonEncoding(Pod),))
    resource = POD_RESOURCE if encodings == "as wanted" else json
    found = await listed(cluster.access(), resource)
    assert uids <= {pod.metadata.uid for pod in found}
    assert len(found) == len({pod.metadata.uid for pod in found})


async def listed(access: KubeAccess, resource: Resource[Pod]) -> list[Pod]:
    api = KubeApi(access)
    listing = Listing(api, resource, 3, FROM_THE_STORE)
    found: list[Pod] = []
    try:
        async with contextlib.aclosing(listing.batches()) as batches:
            async for batch in batches:
                found += [batch.encoding.item(item) for item in batch.items]
    finally:
        await api.close()
    assert listing.version.isdigit()
    return found


async def test_both_encodings_give_the_same(cluster: KubeCluster, unique: str) -> None:
    pod = running_pod(unique)
    pod["metadata"]["labels"] = {"pod-template-hash": "abc", "app": "web"}
    pod["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-abc", "uid": "2",
         "controller": True},
    ]  # fmt: skip
    await cluster.create_pod(pod, ContainerStatus("main", "new", last_id="old"))
    json = Resource("pods", POD_RESOURCE.path, (JsonEncoding(Pod),))
    ours = [
        [pod for pod in await listed(cluster.access(), resource)
         if pod.metadata.namespace == f"team-{unique}"]
        for resource in (POD_RESOURCE, json)
    ]  # fmt: skip
    assert [pod_record(pod) for pod in ours[0]] == [pod_record(pod) for pod in ours[1]]
    assert len(ours[0]) == 1


async def test_a_pods_life_is_followed(cluster: KubeCluster, unique: str) -> None:
    async with informed(cluster) as (cache, _):
        pod = running_pod(unique)
        ref, node = PodRef(f"team-{unique}", "web-0"), NodeName(f"node-{unique}")
        uid = await cluster.create_pod(pod)
        await until(lambda: cache.pod_by_ref(ref) is not None, "the pod")
        assert cache.container_map(node) == "{}"

        first = ContainerId(f"first{unique}")
        await cluster.set_containers(pod, ContainerStatus("main", first))
        await until(lambda: cache.pod_of_container(first) is not None, "its container")
        owner = cache.pod_of_container(first)
        assert owner is not None
        assert (owner.pod.uid, owner.pod.phase, owner.container_name) == (uid, "Running", "main")
        assert cache.container_map(node) == f'{{"{first}":"web-0"}}'

        second = ContainerId(f"second{unique}")
        await cluster.set_containers(pod, ContainerStatus("main", second, last_id=first))
        await until(lambda: cache.pod_of_container(second) is not None, "its restart")
        assert cache.pod_of_container(first) is not None, "the last run may hold memory yet"

        await cluster.delete_pod(pod)
        await until(lambda: cache.pod_by_ref(ref) is None, "its end")
        assert cache.pod_of_container(second) is None
        assert cache.container_map(node) == "{}"


async def test_all_kinds_of_containers(cluster: KubeCluster, unique: str) -> None:
    pod = objects.pod(
        f"team-{unique}", "web-0", node_name=f"node-{unique}", init_containers=["setup"]
    )
    async with informed(cluster) as (cache, _):
        uid = await cluster.create_pod(
            pod,
            ContainerStatus("main", f"m{unique}", runtime="cri-o"),
            ContainerStatus("setup", f"i{unique}", field="initContainerStatuses"),
        )
        wanted = {(f"m{unique}", "main"), (f"i{unique}", "setup")}
        await until(lambda: ids_of(cache, uid) == wanted, "both containers")


async def test_owners(cluster: KubeCluster, unique: str) -> None:
    metadata = {"labels": {"pod-template-hash": "5d4f8c"}}
    pod = objects.pod(
        f"team-{unique}", "web-0", owner=("ReplicaSet", "web-5d4f8c"), extra_metadata=metadata
    )
    async with informed(cluster) as (cache, _):
        await cluster.create_pod(pod)
        ref = PodRef(f"team-{unique}", "web-0")
        await until(lambda: cache.pod_by_ref(ref) is not None, "the pod")
        found = cache.pod_by_ref(ref)
        assert found is not None
        assert found.owner == Owner("Deployment", "web")
        assert found.node == "", "nobody has scheduled it"


async def test_a_node_that_moves_and_goes(cluster: KubeCluster, unique: str) -> None:
    name = NodeName(f"node-{unique}")
    await cluster.put_node(name, "10.0.0.1")
    async with informed(cluster) as (cache, _):
        news: list[tuple[NodeName, NodeRecord | None]] = []
        cache.subscribe_nodes(lambda node, record: news.append((node, record)))
        await cluster.put_node(name, "10.0.0.2", "fd00::2")
        await until(lambda: bool(news), "the news")
        moved = cache.node(name)
        assert moved is not None
        assert moved.internal_ips == ("10.0.0.2", "fd00::2")
        assert news == [(name, moved)]
        await cluster.delete_node(name)
        await until(lambda: cache.node(name) is None, "its end")
        assert news[1:] == [(name, None)]


async def test_the_server_goes_and_comes_back(cluster: KubeCluster, unique: str) -> None:
    async with informed(cluster) as (cache, informers):
        pods = informers.status()[0]
        await until(lambda: pods.watches == 1, "a watch")
        await cluster.go_away()
        await until(lambda: pods.stale_since is not None, "that it is noticed")
        await cluster.come_back()
        uid = await cluster.create_pod(running_pod(unique))
        await until(lambda: uid in cache.pod_uids(), "a pod made afterwards")
        await until(lambda: pods.stale_since is None, "that it is over")


async def test_a_version_that_is_no_longer_kept_is_gone(cluster: KubeCluster, unique: str) -> None:
    await cluster.put_node(f"node-{unique}", "10.0.0.1")
    api = KubeApi(cluster.access())
    try:
        with pytest.raises(GoneError):
            await watch_nodes_from(api, "1")
    finally:
        await api.close()


async def watch_nodes_from(api: KubeApi, version: str) -> None:
    async with api.watch(NODE_RESOURCE, version=version, watch_s=5, margin_s=DEADLINE_S) as stream:
        frames = stream.encoding.frames()
        async for data in stream.chunks:
            for event in map(stream.encoding.event, frames.feed(data)):
                if event.type == "ERROR":
                    status = stream.encoding.status(event.item)
                    raise refusal_in_stream(status.code, status.message)
