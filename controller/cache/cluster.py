"""The controller's picture of the cluster: what its questions read, and its informers write.

Used from one event loop, without locks. Reading costs a look-up, never a scan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.cache.gpus import GpuIndex
from controller.cache.nodes import NodeIndex, NodeListener
from controller.cache.pods import PodIndexes
from controller.cache.records import ContainerOwner, NodeRecord, PodRecord
from gpupods.identity import ContainerId, NodeName, PodRef, PodUid

PODS = "pods"
NODES = "nodes"


class ClusterCache:
    """Pods and nodes with their indexes.

    Until pods and nodes have been listed once, ``synced`` is false, and a pod that is not here
    may exist all the same. Afterwards the cache may lag behind a server that is away; the
    informers tell how far.

    Attributes:
        gpus: What each node's GPUs can still take.
    """

    def __init__(self, gpus: GpuIndex | None = None) -> None:
        self.gpus = gpus or GpuIndex()
        self._pods = PodIndexes()
        self._nodes = NodeIndex()
        self._nodes.subscribe(self._forget_gpus)
        self._waiting_for = dict.fromkeys((PODS, NODES), "not listed yet")

    # What is known of the sync

    @property
    def synced(self) -> bool:
        """Whether all pods and all nodes have been listed once."""
        return not self._waiting_for

    def why_not_synced(self) -> str:
        """What is still missing, and why, for people to read; "" once synced."""
        return "; ".join(f"{kind}: {reason}" for kind, reason in self._waiting_for.items())

    def report_waiting(self, kind: str, reason: str) -> None:
        """Why ``kind`` (`PODS` or `NODES`) has not been listed; of no effect once it has."""
        if kind in self._waiting_for:
            self._waiting_for[kind] = reason

    def report_listed(self, kind: str) -> None:
        """All of ``kind`` is here."""
        self._waiting_for.pop(kind, None)

    # Pods

    def pod_by_uid(self, uid: PodUid) -> PodRecord | None:
        """The pod with this uid."""
        return self._pods.by_uid(uid)

    def pod_by_ref(self, ref: PodRef) -> PodRecord | None:
        """The pod of this namespace and name; while one replaces another, the newer one."""
        return self._pods.by_ref(ref)

    def pods_named(self, name: str) -> tuple[PodRecord, ...]:
        """The pods of this name, in whatever namespace."""
        return self._pods.named(name)

    def pods_on(self, node: NodeName) -> tuple[PodRecord, ...]:
        """The pods that are scheduled to this node."""
        return self._pods.on(node)

    def pods(self) -> Iterator[PodRecord]:
        """All pods. Do not await while iterating: the cache may change meanwhile."""
        return iter(self._pods)

    def pod_count(self) -> int:
        """How many pods are known."""
        return len(self._pods)

    def pod_of_container(self, container_id: ContainerId) -> ContainerOwner | None:
        """Whose container this is: init, sidecar and ephemeral ones and the last run included."""
        return self._pods.of_container(container_id)

    def container_map(self, node: NodeName) -> str:
        """The node's ``{containerID: pod name}`` as a JSON object, encoded once per change."""
        return self._pods.container_map(node)

    # Nodes

    def node(self, name: NodeName) -> NodeRecord | None:
        """The node of this name."""
        return self._nodes.get(name)

    def nodes(self) -> Iterable[NodeRecord]:
        """All nodes. Do not await while iterating: the cache may change meanwhile."""
        return iter(self._nodes)

    def node_count(self) -> int:
        """How many nodes are known."""
        return len(self._nodes)

    def subscribe_nodes(self, listener: NodeListener) -> None:
        """Have ``listener(name, record)`` called when a node's addresses change.

        ``record`` is None when the node has gone. Called on the event loop; must not block.
        """
        self._nodes.subscribe(listener)

    # For those who fill it

    def put_pod(self, pod: PodRecord) -> None:
        """Add a pod, or replace what is known of it."""
        self._pods.put(pod)
        if pod.gpus is not None:
            self.gpus.put_pod(pod)

    def remove_pod(self, uid: PodUid) -> None:
        """Forget a pod, if it is known."""
        known = self._pods.by_uid(uid)
        self._pods.remove(uid)
        if known is not None and known.gpus is not None:
            self.gpus.remove_pod(known)

    def pod_uids(self) -> frozenset[PodUid]:
        """The uids of all known pods."""
        return self._pods.uids()

    def put_node(self, node: NodeRecord) -> None:
        """Add a node, or replace what is known of it."""
        self._nodes.put(node)
        self.gpus.put_node(node)

    def remove_node(self, uid: str) -> None:
        """Forget a node, if it is known."""
        self._nodes.remove(uid)

    def node_uids(self) -> frozenset[str]:
        """The uids of all known nodes."""
        return self._nodes.uids()

    def _forget_gpus(self, name: NodeName, node: NodeRecord | None) -> None:
        if node is None:
            self.gpus.remove_node(name)
