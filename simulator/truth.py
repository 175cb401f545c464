"""What an answer must say, told from the simulated truth alone.

Knows the contract and none of the code that makes answers, so the two can be held against each
other. Holds for nodes whose driver and runtime are well; what a fault hides is the fault's tests'.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpupods.v1alpha1 import gpupods_pb2 as pb
from nodeagent.gpus.sample import MigMode
from simulator.kinds import ContainerKind
from simulator.model import MIB, Cluster, GpuUse, SimGpu, SimNode, SimPod, SimProcess

COMM_LENGTH = 15
"""The kernel keeps no more of a command's name."""

PLACES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What a row says of its pod."""

    namespace: str
    name: str
    uid: str
    container: str
    container_id: str
    owner: str
    """``kind/name``; empty if it has none."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One process on one GPU; ``pod`` or ``reason`` says whose it is."""

    gpu: str
    pid: int
    mig: tuple[int, int, str] | None
    name: str
    memory_mib: int | None
    types: tuple[int, ...]
    started: int | None
    """Hundredths of a second since the epoch, which is as fine as the kernel tells it."""
    pod: PodFacts | None
    reason: int


@dataclass(frozen=True, slots=True)
class GpuFact:
    """One GPU. None is unknown."""

    uuid: str
    name: str
    index: int
    pci_address: str
    memory_total_mib: int | None
    memory_used_mib: int | None
    utilization: int | None
    mig_enabled: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """A node's answer, in no order."""

    node: str
    gpus: frozenset[GpuFact]
    processes: frozenset[Fact]


def true_answer(cluster: Cluster, node: SimNode) -> Facts:
    """What is so on ``node``, as the controller must tell it."""
    return Facts(
        node.name,
        frozenset(_gpu(node, gpu) for gpu in node.gpus),
        frozenset(
            _process(cluster, process, use)
            for process in node.processes.values()
            for use in process.uses
            if not node.gpu(use.gpu).lost
        ),
    )


def _gpu(node: SimNode, gpu: SimGpu) -> GpuFact:
    uses = [use for process in node.processes.values() for use in process.uses]
    held = sum(use.memory_bytes or 0 for use in uses if use.gpu == gpu.uuid)
    return GpuFact(
        uuid=gpu.uuid,
        name=gpu.name,
        index=gpu.index,
        pci_address=gpu.pci_address,
        memory_total_mib=None if gpu.lost else gpu.memory_total_bytes // MIB,
        memory_used_mib=None if gpu.lost else (gpu.reserved_bytes + held) // MIB,
        utilization=None if gpu.lost else gpu.utilization_percent,
        mig_enabled=gpu.mig_mode is MigMode.ENABLED,
    )


def _process(cluster: Cluster, process: SimProcess, use: GpuUse) -> Fact:
    pod = None if process.exited else _pod(cluster, process)
    mig = use.mig
    return Fact(
        gpu=use.gpu,
        pid=process.pid,
        mig=(mig.gpu_instance, mig.compute_instance, mig.uuid) if mig else None,
        name="" if process.exited else process.name[:COMM_LENGTH],
        memory_mib=None if use.memory_bytes is None else use.memory_bytes // MIB,
        types=tuple(sorted(int(kind) for kind in use.types)),
        started=None if process.exited else round(process.started * 100),
        pod=pod,
        reason=0 if pod else _reason(process),
    )


def _pod(cluster: Cluster, process: SimProcess) -> PodFacts | None:
    """The pod whose status names the process's container, now or as the one before."""
    container = process.container
    if container is None or container.pod is None:
        return None
    pod = cluster.pods.get(container.pod.uid)
    if pod is None:
        return None
    for each in pod.containers:
        if container.id in (each.id, each.last_id):
            return PodFacts(
                pod.namespace, pod.name, pod.uid, each.name, container.id, _owner(pod)
            )  # fmt: skip
    return None


def _owner(pod: SimPod) -> str:
    if pod.owner is None:
        return ""
    ending = "-" + pod.labels.get("pod-template-hash", "?")
    if pod.owner.kind == "ReplicaSet" and pod.owner.name.endswith(ending):
        return f"Deployment/{pod.owner.name.removesuffix(ending)}"
    return f"{pod.owner.kind}/{pod.owner.name}"


def _reason(process: SimProcess) -> int:
    if process.exited:
        return pb.UNATTRIBUTED_REASON_PROCESS_EXITED
    if process.container is None:
        return pb.UNATTRIBUTED_REASON_HOST_PROCESS
    if process.container.kind is ContainerKind.FOREIGN:
        return pb.UNATTRIBUTED_REASON_OTHER_RUNTIME
    return pb.UNATTRIBUTED_REASON_UNKNOWN_CONTAINER


def read_answer(response: pb.GetGpuPodsResponse) -> Facts:
    """What ``response`` says, in the same terms."""
    of_pods = (
        _read_process(gpu, row, _read_pod(row), 0)
        for gpu, pods in response.GpuPods.items()
        for row in pods.pidPods
    )
    of_none = (
        _read_process(gpu, each.process, None, each.reason)
        for gpu, listed in response.unattributed.items()
        for each in listed.processes
    )
    gpus = frozenset(_read_gpu(gpu) for gpu in response.GpuInfos.values())
    return Facts(response.node_name, gpus, frozenset((*of_pods, *of_none)))


def _read_gpu(gpu: pb.GpuInfo) -> GpuFact:
    return GpuFact(
        uuid=gpu.uuid,
        name=gpu.gpuName,
        index=gpu.index,
        pci_address=gpu.pci_address,
        memory_total_mib=gpu.memory_total if gpu.memory_known else None,
        memory_used_mib=gpu.memory_used if gpu.memory_known else None,
        utilization=gpu.usageGpu if gpu.utilization_known else None,
        mig_enabled=gpu.mig_mode == pb.MIG_MODE_ENABLED,
    )


def _read_process(gpu: str, row: pb.PidPods, pod: PodFacts | None, reason: int) -> Fact:
    mig, start = row.mig, row.start_time
    return Fact(
        gpu=gpu,
        pid=row.pid,
        mig=(mig.gpu_instance_id, mig.compute_instance_id, mig.uuid)
        if row.HasField("mig")
        else None,
        name=row.processName,
        memory_mib=row.UsedGpuMemory if row.memory_known else None,
        types=tuple(row.types),
        started=round(start.seconds * 100 + start.nanos / 1e7)
        if row.HasField("start_time")
        else None,
        pod=pod,
        reason=reason,
    )


def _read_pod(row: pb.PidPods) -> PodFacts:
    owner = f"{row.owner.kind}/{row.owner.name}" if row.HasField("owner") else ""
    return PodFacts(
        row.namespace, row.pod, row.pod_uid, row.container_name, row.container_id, owner
    )  # fmt: skip


def differences(true: Facts, told: Facts) -> list[str]:
    """What ``told`` lacks, and what it says that is not so; empty if all is well."""
    found = [] if true.node == told.node else [f"node {told.node!r} in place of {true.node!r}"]
    found += [f"lacks {fact}" for fact in _only_in(true, told)]
    found += [f"should not say {fact}" for fact in _only_in(told, true)]
    return found


def _only_in(one: Facts, other: Facts) -> list[str]:
    facts = [str(gpu) for gpu in one.gpus - other.gpus]
    return sorted(facts + [str(fact) for fact in one.processes - other.processes])
