"""Writes joined rows as the contract's messages. Pure; the only place where bytes become MiB."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from gpupods.identity import GpuUuid
from gpupods.v1alpha1 import gpupods_pb2 as pb
from nodeagent.gpus.sample import Gpu, GpuSample, Missing, MissingKind
from nodeagent.health.verdict import Standing, Verdict
from nodeagent.join import GpuRows, Row
from nodeagent.pods_on_gpus import LastPods

MIB = 1024 * 1024
MICROSECONDS = 1_000_000
NOT_JUDGED: Mapping[GpuUuid, Verdict] = {}
NONE_LAST: Mapping[GpuUuid, LastPods] = {}


def encode_answer(
    node_name: str,
    sample: GpuSample,
    joined: Sequence[GpuRows],
    missing: Iterable[Missing],
    boot_to_wall_s: float,
    *,
    verdicts: Mapping[GpuUuid, Verdict] = NOT_JUDGED,
    last: Mapping[GpuUuid, LastPods] = NONE_LAST,
) -> pb.GetGpuPodsResponse:
    """The whole answer of a node.

    Args:
        node_name: the node's Kubernetes name, empty if the agent was not told.
        sample: what ``joined`` was made from.
        joined: one entry for each GPU.
        missing: what the answer lacks.
        boot_to_wall_s: what to add to a CLOCK_BOOTTIME to have seconds since the epoch.
        verdicts: on the health of the GPUs, as far as they are judged.
        last: with which pods a GPU was last seen whose processes the driver cannot tell now.
    """
    response = pb.GetGpuPodsResponse(node_name=node_name)
    if sample.taken is not None:
        response.sample_time.CopyFrom(_timestamp(sample.taken.wall))
    for rows in joined:
        uuid = rows.gpu.uuid
        response.GpuInfos[uuid].CopyFrom(_gpu_info(rows.gpu, verdicts.get(uuid), last.get(uuid)))
        if rows.of_pods:
            response.GpuPods[uuid].pidPods.extend(
                _pid_pods(row, boot_to_wall_s) for row in rows.of_pods
            )
        if rows.of_no_pod:
            response.unattributed[uuid].processes.extend(
                pb.UnattributedProcess(
                    process=_pid_pods(row, boot_to_wall_s),
                    reason=pb.UnattributedReason.ValueType(int(row.reason or 0)),
                    detail=row.detail,
                )
                for row in rows.of_no_pod
            )
    response.missing.extend(
        encode_missing(part.kind, part.subject, part.reason) for part in missing
    )
    return response


def encode_missing(kind: MissingKind, subject: str, reason: str) -> pb.MissingPart:
    """One missing part."""
    return pb.MissingPart(kind=pb.MissingKind.ValueType(int(kind)), subject=subject, reason=reason)


def _pid_pods(row: Row, boot_to_wall: float) -> pb.PidPods:
    on_gpu, process, container = row.on_gpu, row.process, row.container
    start = process.start_boot_s
    return pb.PidPods(
        pid=on_gpu.pid,
        processName=process.name,
        UsedGpuMemory=(on_gpu.used_memory_bytes or 0) // MIB,
        memory_known=on_gpu.used_memory_bytes is not None,
        pod=row.pod,
        namespace=container.namespace if container else "",
        pod_uid=container.pod_uid if container else "",
        container_name=container.name if container else "",
        container_id=process.container or "",
        start_time=None if start is None else _timestamp(start + boot_to_wall),
        types=[pb.ProcessType.ValueType(int(kind)) for kind in on_gpu.types],
        mig=None
        if on_gpu.mig is None
        else pb.MigInstance(
            gpu_instance_id=on_gpu.mig.gpu_instance,
            compute_instance_id=on_gpu.mig.compute_instance,
            uuid=on_gpu.mig.uuid,
        ),
    )


def _gpu_info(gpu: Gpu, verdict: Verdict | None, last: LastPods | None) -> pb.GpuInfo:
    return pb.GpuInfo(
        uuid=gpu.uuid,
        gpuName=gpu.name,
        usageGpu=gpu.utilization_percent or 0,
        utilization_known=gpu.utilization_percent is not None,
        index=gpu.index,
        pci_address=gpu.pci_address,
        memory_total=(gpu.memory_total_bytes or 0) // MIB,
        memory_used=(gpu.memory_used_bytes or 0) // MIB,
        memory_known=gpu.memory_total_bytes is not None and gpu.memory_used_bytes is not None,
        mig_mode=pb.MigMode.ValueType(int(gpu.mig_mode)),
        health=_health(verdict),
        health_detail=None if verdict is None else _health_detail(verdict),
        last_pods=()
        if last is None
        else (
            pb.LastPod(namespace=pod.namespace, pod=pod.name, pod_uid=pod.uid) for pod in last.pods
        ),
        last_pods_time=_timestamp(last.at.wall) if last is not None and last.pods else None,
    )


def _health(verdict: Verdict | None) -> pb.GpuHealth.ValueType:
    if verdict is None:
        return pb.GPU_HEALTH_UNSPECIFIED
    return pb.GPU_HEALTH_FIT if verdict.fit else pb.GPU_HEALTH_UNFIT


def _health_detail(verdict: Verdict) -> pb.GpuHealthDetail | None:
    if not verdict.reason:
        return None
    since, until = verdict.since_wall, verdict.until_wall
    return pb.GpuHealthDetail(
        reason=verdict.reason,
        xid=verdict.xid or 0,
        since=None if since is None else _timestamp(since),
        action=verdict.action,
        ends=verdict.ends,
        source=verdict.source,
        others=verdict.others,
        recovering=verdict.standing is Standing.RECOVERING,
        operator=verdict.who,
        until=None if until is None else _timestamp(until),
    )


def _timestamp(seconds: float) -> Timestamp:
    """To the microsecond, which is as much as seconds since the epoch hold in a float."""
    microseconds = round(seconds * MICROSECONDS)
    whole, rest = divmod(microseconds, MICROSECONDS)
    return Timestamp(seconds=whole, nanos=rest * 1000)
