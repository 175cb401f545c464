"""Which GPUs are to be emptied, and which pods may be evicted for it. Pure.

The rules lean to leaving a pod where it is: an eviction cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from controller.cache.records import NodeRecord
from gpupods.identity import NodeName, PodRef, PodUid
from gpupods.kube.objects import ENDED_PHASES
from gpupods.logs import shorten
from gpupods.node_annotations import UnfitStanding, parse_health
from gpupods.v1alpha1 import gpupods_pb2 as pb

EVICT = "gpupods.io/evict"
"""A pod's annotation: whether it may be evicted from an unfit GPU. Another value than these two was
meant to say something, and is taken for a no."""
NEVER, ALLOWED = "never", "allowed"

MIRROR = "kubernetes.io/config.mirror"
"""What the kubelet puts on the API's image of a static pod."""

SEEN_AT_LEAST_S = 60.0
"""This controller itself has known of it for so long, or for all of a shorter `--evict-after`: the
time of a node whose clock is wrong must not evict at once."""

MANY_NODES = 4
SHARE_OF_NODES = 0.5
"""Where so many nodes, and that share of all that have GPUs, would be emptied at once, it is more
likely that a policy, a driver or a release is wrong than that all these GPUs are."""


@dataclass(frozen=True, slots=True)
class EvictionPolicy:
    """What the operator wants.

    Attributes:
        after_s: How long a GPU must have been unfit.
        excluded: Whether an operator's exclusion counts, too.
        per_minute: Evictions in the whole cluster, in any minute.
        pause_s: Between two evictions of one workload.
    """

    after_s: float
    excluded: bool
    per_minute: int
    pause_s: float


@dataclass(frozen=True, slots=True)
class UnfitFor:
    """A GPU that has been unfit for long enough."""

    node: NodeName
    index: int
    uuid: str
    since: datetime
    reason: str

    def __str__(self) -> str:
        """For people."""
        return (
            f"GPU {self.index} ({self.uuid or 'of unknown UUID'}) of node {self.node}, unfit since "
            f"{self.since:%Y-%m-%d %H:%M:%SZ}: {self.reason}"
        )


FirstSeen: TypeAlias = Mapping[tuple[NodeName, int, str], float]
"""Node, index and UUID of each unfit GPU -> when this controller first knew, monotonic seconds."""


def first_seen(nodes: Iterable[NodeRecord], before: FirstSeen, now_s: float) -> FirstSeen:
    """What to remember: GPUs that are no longer unfit are forgotten."""
    return {
        (node.name, gpu.index, gpu.uuid): before.get((node.name, gpu.index, gpu.uuid), now_s)
        for node in nodes
        for gpu in parse_health(node.gpu_health)[0]
        if gpu.standing is not UnfitStanding.RECOVERING
    }


def due(
    node: NodeRecord, seen: FirstSeen, now: datetime, now_s: float, policy: EvictionPolicy
) -> tuple[UnfitFor, ...]:
    """The GPUs of ``node`` that are to be emptied, by what its Node object says.

    One that is recovering is left alone: it will be fit again by itself.

    Args:
        node: The Node.
        seen: Since when each unfit GPU has been known here.
        now: The wall clock.
        now_s: The clock of ``seen``.
        policy: What the operator wants.
    """
    wanted = {UnfitStanding.UNFIT} | ({UnfitStanding.EXCLUDED} if policy.excluded else set())
    known_for_s = min(policy.after_s, SEEN_AT_LEAST_S)
    return tuple(
        UnfitFor(node.name, gpu.index, gpu.uuid, gpu.since, gpu.reason)
        for gpu in parse_health(node.gpu_health)[0]
        if gpu.standing in wanted
        and gpu.since is not None
        and (now - gpu.since).total_seconds() >= policy.after_s
        and now_s - seen.get((node.name, gpu.index, gpu.uuid), now_s) >= known_for_s
    )


def too_many(emptied: int, with_gpus: int) -> bool:
    """Whether so many nodes are to be emptied that it cannot be meant."""
    return emptied >= MANY_NODES and emptied > with_gpus * SHARE_OF_NODES


@dataclass(frozen=True, slots=True)
class PodOnGpu:
    """A pod with processes on a GPU that is to be emptied, by the word of its node's agent."""

    ref: PodRef
    uid: PodUid
    gpu: UnfitFor


def to_leave(
    gpus: Iterable[UnfitFor], answered: pb.GetGpuPodsResponse, policy: EvictionPolicy
) -> Iterator[PodOnGpu]:
    """The pods that run on ``gpus``, by what the node's agent has just answered.

    A GPU that the agent does not call unfit any more gives none. Of one of whose processes the
    driver does not tell, as after it has fallen off the bus, it is those that it was last seen with
    and whose processes still run; where the driver tells nothing at all it is nobody. Each comes
    once.
    """
    if any(part.kind == pb.MISSING_KIND_DRIVER for part in answered.missing):
        return
    told: set[str] = set()
    for gpu in gpus:
        for uuid, info in sorted(answered.GpuInfos.items()):
            if info.index != gpu.index or (gpu.uuid and uuid != gpu.uuid):
                continue
            if not _is_confirmed(info, policy):
                continue
            rows = answered.GpuPods[uuid].pidPods if uuid in answered.GpuPods else ()
            for row in (*rows, *info.last_pods):
                if row.pod_uid and row.namespace and row.pod_uid not in told:
                    told.add(row.pod_uid)
                    yield PodOnGpu(PodRef(row.namespace, row.pod), PodUid(row.pod_uid), gpu)


def _is_confirmed(info: pb.GpuInfo, policy: EvictionPolicy) -> bool:
    detail = info.health_detail
    if info.health != pb.GPU_HEALTH_UNFIT or detail.recovering:
        return False
    return policy.excluded or not detail.operator


@dataclass(frozen=True, slots=True)
class PodNow:
    """A pod as the API server has it right before it would be evicted.

    ``owner`` is kind and name of its controller, None if it stands alone.
    """

    uid: PodUid
    phase: str
    deleting: bool
    annotations: Mapping[str, str]
    owner: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Leave:
    """The pod stays. ``why`` is told, "" where there is nothing to tell: it is gone or going."""

    why: str = ""


def judge(pod: PodNow | None, uid: PodUid) -> Leave | None:
    """Whether the pod with ``uid`` must be left alone; None: it may be evicted."""
    if pod is None or pod.uid != uid or pod.deleting or pod.phase in ENDED_PHASES:
        return Leave()
    why = _against(pod)
    return Leave(why) if why else None


def _against(pod: PodNow) -> str:
    told = pod.annotations.get(EVICT)
    if told == NEVER:
        return f"its annotation {EVICT} is {NEVER!r}"
    if told not in (None, ALLOWED):
        return f"its annotation {EVICT} is {shorten(told)!r}: write {NEVER} or {ALLOWED}"
    if MIRROR in pod.annotations:
        return "it is a static pod, which only its node's files can stop"
    if pod.owner is not None and pod.owner[0] == "DaemonSet":
        return "its DaemonSet would start it again on the same node"
    if pod.owner is None and told != ALLOWED:
        return (
            "no controller would start it again elsewhere; the annotation "
            f"{EVICT}: {ALLOWED} lets it be evicted all the same"
        )
    return ""
