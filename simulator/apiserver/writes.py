"""Writes: they change the simulated truth, and the store follows it.

What the simulated cluster cannot do is refused, never accepted and forgotten.
"""

from __future__ import annotations

from typing import Any

from gpupods.identity import NodeName, PodRef
from simulator.apiserver.pod_object import Json
from simulator.apiserver.requests import Target
from simulator.apiserver.status import (
    bad_request,
    conflict,
    invalid,
    method_not_allowed,
    not_found,
    success,
)
from simulator.apiserver.store import Store
from simulator.changes import delete_pod, remove_node, start_pod
from simulator.kinds import ContainerKind
from simulator.model import Cluster, SimNode, SimPod, Verb
from simulator.plans import ContainerPlan, PodPlan, ProcessPlan, UsePlan

GPU_RESOURCE = "nvidia.com/gpu"
MEMORY_MIB = 2048
"""What a process of a pod that somebody creates holds on each of its GPUs."""
PATCHABLE = "metadata.labels, metadata.annotations and a node's spec.unschedulable"


def delete(cluster: Cluster, target: Target) -> Json:
    """Delete a pod or a node at once, without a grace period.

    Raises:
        StatusError: 404; 405, other things are not deleted here.
    """
    found = _find(cluster, target)
    if isinstance(found, SimPod):
        delete_pod(cluster, found)
    else:
        remove_node(cluster, found)
    return success(target.resource, target.name, found.uid)


def patch(cluster: Cluster, store: Store, target: Target, change: Any) -> object:
    """Merge labels, annotations or cordoning into an object; null takes a key away.

    Raises:
        StatusError: 404; 409, metadata.resourceVersion is not the current one; 422, the patch
            has something else in it.
    """
    found = _find(cluster, target)
    if not isinstance(change, dict):
        raise bad_request("a patch is a JSON object here; JSON Patch is not simulated")
    metadata, spec = _parts(change)
    now = store.get(target.resource, target.key)
    wanted = metadata.pop("resourceVersion", None)
    if now is not None and wanted not in (None, str(now.version)):
        raise conflict(target.resource, target.name)
    before = (dict(found.labels), dict(found.annotations), getattr(found, "unschedulable", False))
    found.labels = _merged(found.labels, metadata.get("labels"))
    found.annotations = _merged(found.annotations, metadata.get("annotations"))
    if isinstance(found, SimNode) and "unschedulable" in spec:
        found.unschedulable = bool(spec["unschedulable"])
    after = (found.labels, found.annotations, getattr(found, "unschedulable", False))
    if before != after:
        cluster.tell(Verb.MODIFIED, found)
    stored = store.get(target.resource, target.key)
    assert stored is not None  # noqa: S101 - it was found above
    return stored.raw


def _parts(change: Json) -> tuple[Json, Json]:
    """Metadata and spec of a patch in which nothing else is."""
    rest = dict(change)
    for name in ("kind", "apiVersion"):
        rest.pop(name, None)
    metadata = dict(rest.pop("metadata", None) or {})
    spec = dict(rest.pop("spec", None) or {})
    allowed = {"labels", "annotations", "resourceVersion", "name", "namespace", "uid"}
    others = [*rest, *(f"metadata.{key}" for key in metadata if key not in allowed)]
    others += [f"spec.{key}" for key in spec if key not in ("unschedulable", "taints")]
    if others:
        raise invalid(f"the simulator lets {PATCHABLE} be changed, not {', '.join(others)}")
    return metadata, spec


def _merged(old: dict[str, str], change: Any) -> dict[str, str]:
    merged = old | (change or {})
    return {key: str(value) for key, value in merged.items() if value is not None}


def _find(cluster: Cluster, target: Target) -> SimPod | SimNode:
    if target.resource == "pods":
        pod = cluster.refs.get(PodRef(target.namespace, target.name))
        if pod is None:
            raise not_found(target.resource, target.name)
        return pod
    if target.resource == "nodes":
        node = cluster.nodes.get(NodeName(target.name))
        if node is None:
            raise not_found(target.resource, target.name)
        return node
    raise method_not_allowed()


def create(cluster: Cluster, target: Target, wanted: Any) -> SimPod:
    """Start a pod as its spec says, on the node it names or on one with the GPUs it requests.

    Each container gets one process, which computes on as many GPUs as are requested. Without a
    node that fits, the pod stays Pending.

    Raises:
        StatusError: 400 or 422, this is no pod; 409, there is one of that name.
    """
    if target.resource != "pods":
        raise method_not_allowed()
    try:
        metadata, spec = wanted["metadata"], wanted["spec"]
        containers = tuple(spec["containers"])
        requests = [_gpus_of(container) for container in containers]
        name = metadata.get("name") or f"{metadata['generateName']}{len(cluster.pods):05d}"
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise invalid(f"this is not a Pod that can be simulated: {error!r}") from error
    node = _node_for(cluster, spec.get("nodeName"), sum(requests))
    plans = _containers(node, containers, requests)
    labels = metadata.get("labels") or {}
    try:
        return start_pod(cluster, node, PodPlan(target.namespace, name, plans, labels=labels))
    except ValueError as error:
        raise conflict("pods", name) from error


def _gpus_of(container: Json) -> int:
    limits = (container.get("resources") or {}).get("limits") or {}
    return int(limits.get(GPU_RESOURCE, 0))


def _node_for(cluster: Cluster, name: str | None, gpus: int) -> SimNode | None:
    if name:
        return cluster.nodes.get(NodeName(name))
    fitting = [
        node
        for node in cluster.nodes.values()
        if len(node.gpus) >= gpus and node.ready and not node.unschedulable
    ]
    return min(fitting, key=lambda node: len(node.processes), default=None)


def _containers(
    node: SimNode | None, containers: tuple[Json, ...], requests: list[int]
) -> tuple[ContainerPlan, ...]:
    free = [] if node is None else _least_used(node)
    plans = []
    for container, gpus in zip(containers, requests, strict=True):
        taken, free = free[:gpus], free[gpus:]
        command = (container.get("command") or ["main"])[0].rpartition("/")[2]
        uses = tuple(UsePlan(gpu, MEMORY_MIB) for gpu in taken)
        plans.append(
            ContainerPlan(
                container["name"],
                container.get("image", ""),
                (ProcessPlan(command, uses),),
                ContainerKind.APP,
                gpus=gpus,
            )
        )
    return tuple(plans)


def _least_used(node: SimNode) -> list[int]:
    """GPU indexes, those with the fewest processes first."""
    count = dict.fromkeys((gpu.uuid for gpu in node.gpus), 0)
    for process in node.processes.values():
        for use in process.uses:
            count[use.gpu] += 1
    return sorted(range(len(node.gpus)), key=lambda index: (count[node.gpus[index].uuid], index))
