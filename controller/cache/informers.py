"""Fills the cluster cache from the API server: one reflector for pods, one for nodes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Set as AbstractSet

from controller.cache.cluster import NODES, PODS, ClusterCache
from controller.cache.reading import node_record, pod_record
from gpupods.identity import PodUid
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.kube.encoding import Resource
from gpupods.kube.from_protobuf import node_from_protobuf, pod_from_protobuf
from gpupods.kube.json_encoding import JsonEncoding
from gpupods.kube.objects import Node, Pod
from gpupods.kube.protobuf_encoding import ProtobufEncoding
from gpupods.kube.reflector import Pace, Reflector
from gpupods.kube.status import ReflectorStatus
from gpupods.kube_api import objects_pb2

POD_RESOURCE: Resource[Pod] = Resource(
    PODS,
    "/api/v1/pods",
    (ProtobufEncoding(objects_pb2.Pod, pod_from_protobuf), JsonEncoding(Pod)),
)
NODE_RESOURCE: Resource[Node] = Resource(
    NODES,
    "/api/v1/nodes",
    (ProtobufEncoding(objects_pb2.Node, node_from_protobuf), JsonEncoding(Node)),
)


class PodStore:
    """Pods from a reflector into the cache."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache

    def put(self, item: Pod) -> None:
        """Keep what is used of a pod."""
        self._cache.put_pod(pod_record(item))

    def remove(self, uid: str) -> None:
        """Forget a pod."""
        self._cache.remove_pod(PodUid(uid))

    def uids(self) -> AbstractSet[str]:
        """The pods that are known."""
        return self._cache.pod_uids()

    def listed(self) -> None:
        """All pods are here."""
        self._cache.report_listed(PODS)

    def waiting(self, reason: str) -> None:
        """Why they are not."""
        self._cache.report_waiting(PODS, reason)


class NodeStore:
    """Nodes from a reflector into the cache."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache

    def put(self, item: Node) -> None:
        """Keep what is used of a node."""
        self._cache.put_node(node_record(item))

    def remove(self, uid: str) -> None:
        """Forget a node."""
        self._cache.remove_node(uid)

    def uids(self) -> AbstractSet[str]:
        """The nodes that are known."""
        return self._cache.node_uids()

    def listed(self) -> None:
        """All nodes are here."""
        self._cache.report_listed(NODES)

    def waiting(self, reason: str) -> None:
        """Why they are not."""
        self._cache.report_waiting(NODES, reason)


class Informers:
    """Keeps ``cache`` equal to the cluster between `start` and `stop`."""

    def __init__(self, access: KubeAccess, cache: ClusterCache, pace: Pace | None = None) -> None:
        self._cache = cache
        self._api = KubeApi(access)
        self._pods = Reflector(self._api, POD_RESOURCE, PodStore(cache), pace)
        self._nodes = Reflector(self._api, NODE_RESOURCE, NodeStore(cache), pace)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin; returns at once. The server need not be there yet."""
        self._tasks = [
            asyncio.create_task(self._nodes.run(), name="reflector-nodes"),
            asyncio.create_task(self._pods.run(), name="reflector-pods"),
        ]

    async def stop(self) -> None:
        """End both reflectors and close the connections. The cache keeps what it has."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await self._api.close()

    async def renew(self) -> None:
        """Watch anew, and return once both watches are open: see `Reflector.renew`."""
        await asyncio.gather(self._pods.renew(), self._nodes.renew())

    async def wait_synced(self, timeout_s: float) -> bool:
        """Wait until pods and nodes have been listed once; False if the time is over first."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._pods.synced.wait()
                await self._nodes.synced.wait()
        return self._cache.synced

    def status(self) -> tuple[ReflectorStatus, ...]:
        """How each reflector is doing: pods, then nodes."""
        return (self._pods.status, self._nodes.status)
