"""What the answer must be, from what a test knows: the processes it has put on the GPUs. Pure.

Written from the contract alone. Nothing of the node agent or the controller is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from google.protobuf.timestamp_pb2 import Timestamp

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.fakedriver.scenario import MIB, Gpu, MigInstance, Process, ProcessKind, Scenario
from tests.realparts.containerd import NAMESPACE, Container

_TYPES = {
    ProcessKind.COMPUTE: pb.PROCESS_TYPE_COMPUTE,
    ProcessKind.GRAPHICS: pb.PROCESS_TYPE_GRAPHICS,
    ProcessKind.MPS: pb.PROCESS_TYPE_MPS,
}


@dataclass(frozen=True)
class Living:
    """A process as the test has seen it when it put it on a GPU.

    `container` is None for a process of the host, which is in `cgroup`.
    """

    pid: int
    name: str
    started: float
    """Seconds since the epoch."""
    cgroup: str
    container: Container | None = None


@dataclass(frozen=True)
class Placed:
    """A process on a GPU, or on one MIG device of it."""

    gpu: str
    process: Process
    living: Living
    mig: MigInstance | None = None
    exited: bool = False
    reused: bool = False


@dataclass(frozen=True)
class PodOfContainer:
    """The pod of a container, as whoever was asked knows it."""

    pod: str
    namespace: str
    uid: str
    container: str
    owner: tuple[str, str] | None = None


Knowledge = Callable[[Container], PodOfContainer | None]
"""What whoever was asked knows of a container's pod."""


def labels_of(container: Container) -> PodOfContainer:
    """What the runtime's labels say of a container."""
    pod = container.pod
    return PodOfContainer(pod.name, pod.namespace, pod.uid, container.name)


def expected_answer(
    node: str, scenario: Scenario, placed: Iterable[Placed], knowledge: Knowledge
) -> pb.GetGpuPodsResponse:
    """The whole answer, without its sample time."""
    answer = pb.GetGpuPodsResponse(node_name=node)
    for index, gpu in enumerate(scenario.gpus):
        answer.GpuInfos[gpu.uuid].CopyFrom(expected_gpu(index, gpu))
    for one in sorted(
        placed, key=lambda each: (each.process.pid, each.mig.uuid if each.mig else "")
    ):
        reason, detail = _why_no_pod(one, knowledge)
        row = _row(one, knowledge)
        if reason:
            answer.unattributed[one.gpu].processes.add(process=row, reason=reason, detail=detail)
        else:
            answer.GpuPods[one.gpu].pidPods.append(row)
    return answer


def expected_gpu(index: int, gpu: Gpu) -> pb.GpuInfo:
    """One GPU that answers."""
    mig_modes = {
        None: pb.MIG_MODE_UNSUPPORTED,
        False: pb.MIG_MODE_DISABLED,
        True: pb.MIG_MODE_ENABLED,
    }
    utilization = None if gpu.mig else gpu.utilization
    return pb.GpuInfo(
        uuid=gpu.uuid,
        gpuName=gpu.name,
        usageGpu=utilization or 0,
        utilization_known=utilization is not None,
        index=index,
        pci_address=gpu.pci,
        memory_total=gpu.memory_total // MIB,
        memory_used=gpu.memory_used // MIB,
        memory_known=True,
        mig_mode=mig_modes[gpu.mig],
    )


def unread_gpu(index: int, gpu: Gpu) -> pb.GpuInfo:
    """One GPU that was seen before and does not answer now."""
    info = expected_gpu(index, gpu)
    for field in ("usageGpu", "utilization_known", "memory_total", "memory_used", "memory_known"):
        info.ClearField(field)
    return info


def _why_no_pod(one: Placed, knowledge: Knowledge) -> tuple[pb.UnattributedReason.ValueType, str]:
    """The reason, and what its detail must hold; 0 if the process has a pod."""
    container = one.living.container
    if one.exited:
        return pb.UNATTRIBUTED_REASON_PROCESS_EXITED, ""
    if one.reused:
        return pb.UNATTRIBUTED_REASON_PID_REUSED, ""
    if container is None:
        return pb.UNATTRIBUTED_REASON_HOST_PROCESS, one.living.cgroup
    if container.namespace != NAMESPACE:
        return pb.UNATTRIBUTED_REASON_OTHER_RUNTIME, container.id[:12]
    if knowledge(container) is None:
        return pb.UNATTRIBUTED_REASON_UNKNOWN_CONTAINER, container.id
    return pb.UNATTRIBUTED_REASON_UNSPECIFIED, ""


def _row(one: Placed, knowledge: Knowledge) -> pb.PidPods:
    row = pb.PidPods(
        pid=one.process.pid,
        UsedGpuMemory=(one.process.memory or 0) // MIB,
        memory_known=one.process.memory is not None,
        types=[number for kind, number in _TYPES.items() if kind in one.process.kinds],
    )
    if one.mig is not None:
        row.mig.gpu_instance_id = one.mig.gpu_instance
        row.mig.compute_instance_id = one.mig.compute_instance
        row.mig.uuid = one.mig.uuid
    if one.exited or one.reused:
        return row
    row.processName = one.living.name
    row.start_time.CopyFrom(_timestamp(one.living.started))
    _fill_container(row, one.living.container, knowledge)
    return row


def _fill_container(row: pb.PidPods, container: Container | None, knowledge: Knowledge) -> None:
    if container is None or container.namespace != NAMESPACE:
        return
    known = knowledge(container)
    told = known or labels_of(container)
    row.container_id = container.id
    row.namespace, row.pod_uid, row.container_name = told.namespace, told.uid, told.container
    if known is None:
        return
    row.pod = known.pod
    if known.owner is not None:
        row.owner.kind, row.owner.name = known.owner


def _timestamp(seconds: float) -> Timestamp:
    stamp = Timestamp()
    stamp.FromNanoseconds(int(seconds * 1e9))
    return stamp
