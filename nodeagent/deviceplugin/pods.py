"""The pods that wait for a GPU of this node, as the API server has them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from gpupods.accounting.indexes import parse_index
from gpupods.accounting.names import GPU_INDEX, PREDICATE_TIME
from gpupods.accounting.quantity import parse_quantity
from gpupods.identity import PodRef, PodUid
from gpupods.kube.objects import ENDED_PHASES, Shape
from nodeagent.deviceplugin.offer import RESOURCES

GPU_ASSIGNED = "volcano.sh/gpu-assigned"
"""A pod's annotation: "true" once it was given its GPUs, so that no other is taken for it."""


LATE = 2**64 - 1
"""The time of a pod that no scheduler has dated: after all others."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """One container's limit of one resource."""

    container: str
    resource: str
    count: int
    first: int
    """Which of the pod's GPUs is its first, where whole ones are asked for."""
    told: bool = True
    """Whether every kubelet's own account tells of it: of init containers none does."""


@dataclass(frozen=True, slots=True)
class GpuPod:
    """A pod that asks for GPUs."""

    uid: PodUid
    ref: PodRef
    asks: tuple[Ask, ...]
    """In the order in which the kubelet asks: init containers, then containers."""
    indexes: tuple[int, ...] = ()
    """Which GPUs a scheduler has chosen, ascending; empty: none, or it is not understood."""
    problem: str = ""
    """Why ``indexes`` is empty."""
    predicate_time: int = LATE
    """When they were chosen, in nanoseconds since 1970."""
    assigned: bool = False
    node: str = ""
    ended: bool = False
    """Whether it has succeeded or failed, and so has no GPU any more."""

    def needs(self, resource: str) -> int:
        """How much of ``resource`` it has at its neediest moment."""
        asks = (ask.first + ask.count for ask in self.asks if ask.resource == resource)
        return max(asks, default=0)


class _Resources(Shape, frozen=True):
    limits: dict[str, str | int | float] | None = None


class _Container(Shape, frozen=True):
    name: str
    resources: _Resources | None = None
    restart_policy: str | None = None


class _Spec(Shape, frozen=True):
    containers: tuple[_Container, ...] | None = None
    init_containers: tuple[_Container, ...] | None = None
    node_name: str | None = None


class _Status(Shape, frozen=True):
    phase: str = ""


class _Meta(Shape, frozen=True):
    name: str
    namespace: str
    uid: str
    annotations: dict[str, str] | None = None
    deletion_timestamp: str | None = None


class _Pod(Shape, frozen=True):
    metadata: _Meta
    spec: _Spec
    status: _Status | None = None


def read_pods(items: Iterable[Json], *, deleted: bool = False) -> tuple[GpuPod, ...]:
    """Those that ask for a GPU, those that are being ``deleted`` only if they are wanted.

    Raises:
        ValueError: one is no pod, or a limit of one no quantity.
    """
    read = (msgspec.convert(each, _Pod) for each in items)
    pods = (_gpu_pod(each) for each in read if deleted or each.metadata.deletion_timestamp is None)
    return tuple(pod for pod in pods if pod.asks)


def read_pod(item: Json) -> GpuPod:
    """One pod, whatever it asks for. Raises ValueError as `read_pods` does."""
    return _gpu_pod(msgspec.convert(item, _Pod))


def _gpu_pod(pod: _Pod) -> GpuPod:
    annotations = pod.metadata.annotations or {}
    indexes, problem = _indexes(annotations.get(GPU_INDEX))
    return GpuPod(
        uid=PodUid(pod.metadata.uid),
        ref=PodRef(pod.metadata.namespace, pod.metadata.name),
        asks=tuple(ask for resource in RESOURCES for ask in _asks(pod.spec, resource)),
        indexes=indexes,
        problem=problem,
        predicate_time=_time(annotations.get(PREDICATE_TIME)),
        assigned=annotations.get(GPU_ASSIGNED, "false") != "false",
        node=pod.spec.node_name or "",
        ended=pod.status is not None and pod.status.phase in ENDED_PHASES,
    )


def _indexes(value: str | None) -> tuple[tuple[int, ...], str]:
    if value is None:
        return (), f"it has no annotation {GPU_INDEX}"
    try:
        return tuple(sorted(parse_index(value))), ""
    except ValueError as error:
        return (), str(error)


def _time(value: str | None) -> int:
    if value is None or not (value.isascii() and value.isdigit() and len(value) <= len(str(LATE))):
        return LATE
    return int(value)


def _asks(spec: _Spec, resource: str) -> Iterable[Ask]:
    """Sidecars and containers have GPUs of their own; an init container's are used again."""
    kept = 0
    for container in spec.init_containers or ():
        if count := _limit(container, resource):
            yield Ask(container.name, resource, count, kept, told=False)
            kept += count if container.restart_policy == "Always" else 0
    for container in spec.containers or ():
        if count := _limit(container, resource):
            yield Ask(container.name, resource, count, kept)
            kept += count


def _limit(container: _Container, resource: str) -> int:
    limits = (container.resources and container.resources.limits) or {}
    return parse_quantity(limits[resource]) if resource in limits else 0
