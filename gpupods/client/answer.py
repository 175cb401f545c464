"""What a client is answered: the state of one node's GPUs, as plain values.

Everything that could not be found out is None, never 0 and never an empty text. Memory is in
MiB (2**20 bytes), utilisation in percent, times are in UTC and know it. Pure: no gRPC here.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gpupods.identity import ContainerId, GpuUuid, NodeName, Pid, PodRef, PodUid


class ProcessType(enum.Enum):
    """In which of the driver's process lists a process was found."""

    COMPUTE = "compute"
    GRAPHICS = "graphics"
    MPS = "mps"
    """A client of the CUDA Multi-Process Service."""
    UNKNOWN = "unknown"
    """A type that this client is too old to know."""


class MigMode(enum.Enum):
    """Whether a GPU is split into MIG devices."""

    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"
    DISABLED = "disabled"
    ENABLED = "enabled"


class GpuHealth(enum.Enum):
    """Whether a GPU may be given to anybody. UNKNOWN: nobody has judged it."""

    UNKNOWN = "unknown"
    FIT = "fit"
    UNFIT = "unfit"


class UnattributedReason(enum.Enum):
    """Why a process has no pod."""

    UNKNOWN = "unknown"
    HOST_PROCESS = "host process"
    """It runs in no container."""
    OTHER_RUNTIME = "other runtime"
    """It runs in a container that the node's Kubernetes runtime does not know."""
    UNKNOWN_CONTAINER = "unknown container"
    """The runtime knows its container, the cluster knows no pod with it."""
    PROCESS_EXITED = "process exited"
    """The driver still lists it, the kernel no longer does."""
    PID_REUSED = "pid reused"
    """Another process has its pid by now."""
    UNDETERMINED = "undetermined"
    """It could not be found out; the answer's missing parts say why."""


class MissingKind(enum.Enum):
    """What kind of thing an answer lacks."""

    UNKNOWN = "unknown"
    DRIVER = "driver"
    GPU = "gpu"
    PROCESS = "process"
    CONTAINER = "container"
    RUNTIME = "runtime"
    """The container runtime as a whole."""
    POD = "pod"
    """What only the cluster knows of a pod: namespace, uid, owner."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The workload that a pod belongs to: kind "Deployment", name "web"."""

    kind: str
    name: str

    def __str__(self) -> str:
        """As kubectl writes it: ``Deployment/web``."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class MigInstance:
    """The MIG device that a process runs on."""

    gpu_instance_id: int
    compute_instance_id: int
    uuid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """One process on one GPU, or on one MIG device of it.

    ``pid`` is as the node's own pid namespace counts; a process is known by it only together
    with ``started_at``. ``memory_mib`` is what the process holds, rounded down. ``mig`` is
    None if it uses the whole GPU; ``owner`` if its pod stands alone, or nobody knows.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PodProcess(GpuProcess):
    """A process of a pod. ``pod`` is the pod's name, without its namespace."""

    pod: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnattributedProcess(GpuProcess):
    """A process of no pod that the answer could name, and why.

    ``detail`` is what was seen, for a person; empty if there is nothing to add.
    """

    reason: UnattributedReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuHealthDetail:
    """Why a GPU is unfit, or that an operator's word decides. Texts are for a person.

    ``xid`` is None where none led to it; ``operator`` where the word is nobody's, and then
    ``until`` is None, too; with an operator it is when the word ends, None: when it is taken back.
    """

    reason: str
    xid: int | None
    since: datetime | None
    action: str
    """What to do."""
    ends: str
    """How it ends."""
    source: str
    """What noticed it: nvml, kernel log, operator."""
    others: tuple[str, ...]
    """Whatever else is wrong with it, each as a reason."""
    recovering: bool
    """Unfit still, though all that is wanting is that it stays clean for a while."""
    operator: str | None
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuInfo:
    """One physical GPU. ``index`` is None only if the answer tells nothing but its UUID.

    ``health_detail`` is None where there is nothing to tell. ``last_pods`` are, where the driver
    cannot tell what runs on it, the pods that it was last seen with, at ``last_pods_at``, and
    whose processes still run.
    """

    uuid: GpuUuid
    index: int | None
    name: str | None
    pci_address: str | None
    utilization_percent: int | None
    memory_used_mib: int | None
    memory_total_mib: int | None
    mig_mode: MigMode
    health: GpuHealth
    health_detail: GpuHealthDetail | None = None
    last_pods: tuple[PodRef, ...] = ()
    last_pods_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GpuState:
    """One GPU and the processes on it, ordered by pid, then MIG UUID."""

    info: GpuInfo
    rows: tuple[PodProcess, ...]
    unattributed: tuple[UnattributedProcess, ...]

    @property
    def processes(self) -> tuple[GpuProcess, ...]:
        """All of them: those of pods first."""
        return (*self.rows, *self.unattributed)

    @property
    def memory_other_mib(self) -> int | None:
        """Memory in use that no listed process of known memory accounts for, in MiB.

        The driver's own, that of processes whose memory is not known, and, in an answer that
        was narrowed to one pod, that of the other pods. Below 0 if the processes account for
        more than is in use: memory that processes share is counted for each.
        None if the GPU's memory in use is not known.
        """
        if self.info.memory_used_mib is None:
            return None
        return self.info.memory_used_mib - known_memory_mib(self.processes)


def known_memory_mib(processes: Sequence[GpuProcess]) -> int:
    """The sum of the memory that is known."""
    return sum(process.memory_mib or 0 for process in processes)


@dataclass(frozen=True, slots=True)
class MissingPart:
    """One thing that the answer would hold if everything had worked.

    ``subject`` says which one: a GPU UUID or "gpu 3", a container id, a pid; None: all of that
    kind. ``reason`` is for a person: what was tried, what came back, what it means.
    """

    kind: MissingKind
    subject: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class GpuPodsAnswer:
    """Every GPU of one node, ordered by index, and what this answer lacks.

    ``sampled_at`` is when the driver was asked, None if it has not answered at all. An empty
    ``missing`` means that the answer is whole.
    """

    node: NodeName | None
    sampled_at: datetime | None
    gpus: tuple[GpuState, ...]
    missing: tuple[MissingPart, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing
