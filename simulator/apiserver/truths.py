"""The simulated things behind the API's objects."""

from __future__ import annotations

from gpupods.identity import NodeName, PodUid
from simulator.apiserver.pod_object import Json
from simulator.apiserver.requests import Target
from simulator.apiserver.status import not_found
from simulator.apiserver.store import Store
from simulator.model import Cluster, SimNode, SimPod


def truth_of(cluster: Cluster, thing: Json) -> SimPod | SimNode | None:
    """What ``thing`` shows; None if it was put into the store by hand."""
    metadata = thing["metadata"]
    if thing.get("kind") == "Pod":
        return cluster.pods.get(PodUid(metadata["uid"]))
    node = cluster.nodes.get(NodeName(metadata["name"]))
    return node if node is not None and node.uid == metadata.get("uid") else None


def pod_behind(cluster: Cluster, store: Store, target: Target) -> SimPod:
    """The pod that ``target`` names.

    Raises:
        StatusError: 404.
    """
    found = store.get("pods", target.key)
    pod = None if found is None else truth_of(cluster, found.object)
    if not isinstance(pod, SimPod):
        raise not_found("pods", target.name)
    return pod
