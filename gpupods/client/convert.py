"""From the contract's messages to plain values, and from a question to its request. Pure.

The only place that knows which flag of the contract makes which number mean something.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypedDict

from google.protobuf.timestamp_pb2 import Timestamp

from gpupods.client.answer import (
    GpuHealth,
    GpuHealthDetail,
    GpuInfo,
    GpuPodsAnswer,
    GpuState,
    MigInstance,
    MigMode,
    MissingKind,
    MissingPart,
    Owner,
    PodProcess,
    ProcessType,
    UnattributedProcess,
    UnattributedReason,
)
from gpupods.client.limits import LONGEST_AGE_S, LONGEST_TIMEOUT_S
from gpupods.identity import ContainerId, GpuUuid, NodeName, Pid, PodRef, PodUid
from gpupods.v1alpha1 import gpupods_pb2 as pb

TYPES: Mapping[int, ProcessType] = {
    pb.PROCESS_TYPE_COMPUTE: ProcessType.COMPUTE,
    pb.PROCESS_TYPE_GRAPHICS: ProcessType.GRAPHICS,
    pb.PROCESS_TYPE_MPS: ProcessType.MPS,
}
MIG_MODES: Mapping[int, MigMode] = {
    pb.MIG_MODE_UNSUPPORTED: MigMode.UNSUPPORTED,
    pb.MIG_MODE_DISABLED: MigMode.DISABLED,
    pb.MIG_MODE_ENABLED: MigMode.ENABLED,
}
HEALTHS: Mapping[int, GpuHealth] = {
    pb.GPU_HEALTH_FIT: GpuHealth.FIT,
    pb.GPU_HEALTH_UNFIT: GpuHealth.UNFIT,
}
REASONS: Mapping[int, UnattributedReason] = {
    pb.UNATTRIBUTED_REASON_HOST_PROCESS: UnattributedReason.HOST_PROCESS,
    pb.UNATTRIBUTED_REASON_OTHER_RUNTIME: UnattributedReason.OTHER_RUNTIME,
    pb.UNATTRIBUTED_REASON_UNKNOWN_CONTAINER: UnattributedReason.UNKNOWN_CONTAINER,
    pb.UNATTRIBUTED_REASON_PROCESS_EXITED: UnattributedReason.PROCESS_EXITED,
    pb.UNATTRIBUTED_REASON_PID_REUSED: UnattributedReason.PID_REUSED,
    pb.UNATTRIBUTED_REASON_UNDETERMINED: UnattributedReason.UNDETERMINED,
}
MISSING_KINDS: Mapping[int, MissingKind] = {
    pb.MISSING_KIND_DRIVER: MissingKind.DRIVER,
    pb.MISSING_KIND_GPU: MissingKind.GPU,
    pb.MISSING_KIND_PROCESS: MissingKind.PROCESS,
    pb.MISSING_KIND_CONTAINER: MissingKind.CONTAINER,
    pb.MISSING_KIND_RUNTIME: MissingKind.RUNTIME,
    pb.MISSING_KIND_POD: MissingKind.POD,
}


def request_for(pod: str, *, only_this_pod: bool, max_age_s: float) -> pb.GetGpuPodsRequest:
    """The request that asks about ``pod``.

    Raises:
        ValueError: ``max_age_s`` is below 0, not a number, or more than 49 days.
    """
    return pb.GetGpuPodsRequest(
        worker_id=pod, only_this_pod=only_this_pod, max_age_ms=age_ms(max_age_s)
    )


def age_ms(max_age_s: float) -> int:
    """How old a sample may be, as the contract has it.

    Raises:
        ValueError: it is below 0, not a number, or more than 49 days.
    """
    if not 0 <= max_age_s <= LONGEST_AGE_S:
        raise ValueError(f"max_age_s is {max_age_s}: give 0 or more seconds, at most 49 days")
    return math.floor(max_age_s * 1000)


def checked_timeout(timeout_s: float) -> float:
    """``timeout_s``, if it is one.

    Raises:
        ValueError: it is 0 or less, not a number, or more than a week.
    """
    if not 0 < timeout_s <= LONGEST_TIMEOUT_S:
        raise ValueError(
            f"timeout_s is {timeout_s}: give more than 0 seconds, for example 5, and a week at most"
        )
    return timeout_s


def answer_from(response: pb.GetGpuPodsResponse) -> GpuPodsAnswer:
    """The whole answer; GPUs by index, those known by UUID alone last."""
    uuids = {*response.GpuInfos, *response.GpuPods, *response.unattributed}
    gpus = [_gpu_from(GpuUuid(uuid), response) for uuid in uuids]
    gpus.sort(key=lambda gpu: (gpu.info.index is None, gpu.info.index or 0, gpu.info.uuid))
    return GpuPodsAnswer(
        node=NodeName(response.node_name) if response.node_name else None,
        sampled_at=time_from(response.sample_time) if response.HasField("sample_time") else None,
        gpus=tuple(gpus),
        missing=tuple(missing_from(part) for part in response.missing),
    )


def _gpu_from(uuid: GpuUuid, response: pb.GetGpuPodsResponse) -> GpuState:
    # Looking a key up in a protobuf map of messages would add it: ask first.
    rows = response.GpuPods[uuid].pidPods if uuid in response.GpuPods else ()
    others = response.unattributed[uuid].processes if uuid in response.unattributed else ()
    known = response.GpuInfos.get(uuid, None)
    return GpuState(
        info=info_from(uuid, known) if known is not None else _nothing_but(uuid),
        rows=tuple(PodProcess(**_process_fields(row), pod=row.pod) for row in rows),
        unattributed=tuple(_unattributed_from(other) for other in others),
    )


def info_from(uuid: GpuUuid, info: pb.GpuInfo) -> GpuInfo:
    """One GPU."""
    return GpuInfo(
        uuid=uuid,
        index=info.index,
        name=info.gpuName or None,
        pci_address=info.pci_address or None,
        utilization_percent=info.usageGpu if info.utilization_known else None,
        memory_used_mib=info.memory_used if info.memory_known else None,
        memory_total_mib=info.memory_total if info.memory_known else None,
        mig_mode=MIG_MODES.get(info.mig_mode, MigMode.UNKNOWN),
        health=HEALTHS.get(info.health, GpuHealth.UNKNOWN),
        health_detail=detail_from(info.health_detail) if info.HasField("health_detail") else None,
        last_pods=tuple(PodRef(pod.namespace, pod.pod) for pod in info.last_pods),
        last_pods_at=time_from(info.last_pods_time) if info.HasField("last_pods_time") else None,
    )


def detail_from(detail: pb.GpuHealthDetail) -> GpuHealthDetail:
    """Why a GPU is unfit, as `gpupods.client.answer` has it."""
    return GpuHealthDetail(
        reason=detail.reason,
        xid=detail.xid or None,
        since=time_from(detail.since) if detail.HasField("since") else None,
        action=detail.action,
        ends=detail.ends,
        source=detail.source,
        others=tuple(detail.others),
        recovering=detail.recovering,
        operator=detail.operator or None,
        until=time_from(detail.until) if detail.HasField("until") else None,
    )


def _nothing_but(uuid: GpuUuid) -> GpuInfo:
    return GpuInfo(
        uuid=uuid,
        index=None,
        name=None,
        pci_address=None,
        utilization_percent=None,
        memory_used_mib=None,
        memory_total_mib=None,
        mig_mode=MigMode.UNKNOWN,
        health=GpuHealth.UNKNOWN,
    )


class _ProcessFields(TypedDict):
    """The fields of a GpuProcess: what rows of pods and other processes have in common."""

    pid: Pid
    name: str | None
    memory_mib: int | None
    types: tuple[ProcessType, ...]
    mig: MigInstance | None
    started_at: datetime | None
    namespace: str | None
    pod_uid: PodUid | None
    container_name: str | None
    container_id: ContainerId | None
    owner: Owner | None


def _process_fields(row: pb.PidPods) -> _ProcessFields:
    return {
        "pid": Pid(row.pid),
        "name": row.processName or None,
        "memory_mib": row.UsedGpuMemory if row.memory_known else None,
        "types": tuple(TYPES.get(number, ProcessType.UNKNOWN) for number in row.types),
        "mig": _mig_from(row.mig) if row.HasField("mig") else None,
        "started_at": time_from(row.start_time) if row.HasField("start_time") else None,
        "namespace": row.namespace or None,
        "pod_uid": PodUid(row.pod_uid) if row.pod_uid else None,
        "container_name": row.container_name or None,
        "container_id": ContainerId(row.container_id) if row.container_id else None,
        "owner": Owner(row.owner.kind, row.owner.name) if row.HasField("owner") else None,
    }


def _unattributed_from(other: pb.UnattributedProcess) -> UnattributedProcess:
    return UnattributedProcess(
        **_process_fields(other.process),
        reason=REASONS.get(other.reason, UnattributedReason.UNKNOWN),
        detail=other.detail,
    )


def _mig_from(mig: pb.MigInstance) -> MigInstance:
    return MigInstance(mig.gpu_instance_id, mig.compute_instance_id, mig.uuid)


def missing_from(part: pb.MissingPart) -> MissingPart:
    """One missing part."""
    kind = MISSING_KINDS.get(part.kind, MissingKind.UNKNOWN)
    return MissingPart(kind, part.subject or None, part.reason)


def time_from(stamp: Timestamp) -> datetime:
    """A time in UTC."""
    return stamp.ToDatetime(tzinfo=UTC)
