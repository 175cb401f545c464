"""Pods that somebody creates, and where the simulated scheduler and kubelet put their processes.

The scheduler is a simple one: the node with the fewest processes that has as many fit GPUs as the
pod wants. It gives nobody a GPU that is named in `gpupods.node_annotations.UNHEALTHY_IDS`. A pod
that names another scheduler waits until that one binds it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpupods.accounting.indexes import format_index
from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER, PREDICATE_TIME
from gpupods.identity import NodeName
from gpupods.node_annotations import UNHEALTHY_IDS, parse_ids
from simulator.apiserver.pod_object import Json
from simulator.apiserver.requests import Target
from simulator.apiserver.status import conflict, invalid, method_not_allowed
from simulator.changes import start_pod
from simulator.kinds import ContainerKind
from simulator.model import Cluster, SimContainer, SimNode, SimPod
from simulator.plans import ContainerPlan, PodPlan, ProcessPlan, UsePlan

WHOLE = ("nvidia.com/gpu", GPU_NUMBER)
"""Resources of which one is a GPU; of `GPU_MEMORY` any amount is a part of one."""
SCHEDULER = "default-scheduler"
MEMORY_MIB = 2048
"""What a process of a pod that somebody creates holds on each of its GPUs."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A container that is to be started."""

    name: str
    image: str
    command: str
    limits: dict[str, str]
    """Extended resources."""

    @property
    def gpus(self) -> int:
        """On how many it computes.

        Raises:
            ValueError: a limit is no number.
        """
        whole = sum(int(self.limits.get(name, 0)) for name in WHOLE)
        return whole + bool(int(self.limits.get(GPU_MEMORY, 0)))


def create(cluster: Cluster, target: Target, body: Any) -> SimPod:
    """Start a pod as its spec says, on the node it names or on one with the GPUs it requests.

    Each container gets one process, which computes on as many GPUs as are requested. Without a
    node that fits, the pod stays Pending.

    Raises:
        StatusError: 405; 409, there is one of that name; 422, this is no pod.
    """
    if target.resource != "pods":
        raise method_not_allowed()
    try:
        metadata, spec = body["metadata"], body["spec"]
        wanted = [_wanted(container) for container in spec["containers"]]
        count = sum(each.gpus for each in wanted)
        name = metadata.get("name") or f"{metadata['generateName']}{len(cluster.pods):05d}"
        annotations = dict(metadata.get("annotations") or {})
        labels = dict(metadata.get("labels") or {})
        scheduler = spec.get("schedulerName") or SCHEDULER
        node = _node_for(cluster, spec.get("nodeName"), count, scheduler)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise invalid(f"this is not a Pod that can be simulated: {error!r}") from error
    plans = container_plans(node, wanted, annotations)
    plan = PodPlan(
        target.namespace, name, plans, labels=labels, annotations=annotations, scheduler=scheduler
    )
    try:
        return start_pod(cluster, node, plan)
    except ValueError as error:
        raise conflict("pods", name) from error


def _wanted(container: Json) -> Wanted:
    limits = (container.get("resources") or {}).get("limits") or {}
    extended = {name: str(value) for name, value in limits.items() if "/" in name}
    command = (container.get("command") or ["main"])[0].rpartition("/")[2]
    return Wanted(container["name"], container.get("image", ""), command, extended)


def wanted_again(container: SimContainer) -> Wanted:
    """What a container that waits for a node is to be started as."""
    gpus = {WHOLE[0]: str(container.gpus_requested)} if container.gpus_requested else {}
    return Wanted(container.name, container.image, container.command, gpus | container.limits)


def _node_for(cluster: Cluster, name: str | None, gpus: int, scheduler: str) -> SimNode | None:
    if name:
        return cluster.nodes.get(NodeName(name))
    if scheduler != SCHEDULER:
        return None
    fitting = [
        node
        for node in cluster.nodes.values()
        if len(fit_gpus(node)) >= gpus and node.ready and not node.unschedulable
    ]
    return min(fitting, key=lambda node: len(node.processes), default=None)


def fit_gpus(node: SimNode) -> list[int]:
    """The indexes of the GPUs that may be given away, those with the fewest processes first."""
    unfit, _ = parse_ids(node.annotations.get(UNHEALTHY_IDS))
    count = dict.fromkeys((gpu.uuid for gpu in node.gpus), 0)
    for process in node.processes.values():
        for use in process.uses:
            count[use.gpu] += 1
    indexes = [gpu.index for gpu in node.gpus if gpu.index not in unfit]
    return sorted(indexes, key=lambda index: (count[node.gpus[index].uuid], index))


def container_plans(
    node: SimNode | None, wanted: Iterable[Wanted], annotations: dict[str, str]
) -> tuple[ContainerPlan, ...]:
    """The containers with their processes on GPUs: those that a scheduler chose, or free ones.

    Where a share of GPUs is asked for and nobody has chosen, ``annotations`` get the choice.
    """
    free = [] if node is None else _chosen(node, annotations) or fit_gpus(node)
    plans = []
    given: list[int] = []
    for container in wanted:
        taken, free = free[: container.gpus], free[container.gpus :]
        if container.limits.keys() & {GPU_MEMORY, GPU_NUMBER}:
            given += taken
        uses = tuple(UsePlan(gpu, MEMORY_MIB) for gpu in taken)
        plans.append(
            ContainerPlan(
                container.name,
                container.image,
                (ProcessPlan(container.command, uses),),
                ContainerKind.APP,
                gpus=int(container.limits.get(WHOLE[0], 0)),
                limits={name: v for name, v in container.limits.items() if name != WHOLE[0]},
                command=container.command,
            )
        )
    if given and GPU_INDEX not in annotations:
        annotations[GPU_INDEX] = format_index(given)
        annotations[PREDICATE_TIME] = str(time.time_ns())
    return tuple(plans)


def _chosen(node: SimNode, annotations: dict[str, str]) -> list[int]:
    """What a scheduler wrote; what it should not have written is left out."""
    indexes, _ = parse_ids(annotations.get(GPU_INDEX))
    return sorted(index for index in indexes if index < len(node.gpus))
