"""One sample of a node's GPUs, as values, and the interface of whatever takes samples.

Unknown is None, never zero. The driver behind NVML takes samples in `nodeagent.gpus.driver`,
the simulator in `simulator.gpus`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from gpupods.identity import GpuUuid, Pid

DRIVER_LIBRARY = "libnvidia-ml.so.1"
"""NVML's name: in a reason that names it, the library is what is not there."""


class ProcessType(enum.IntEnum):
    """In which of the driver's lists a process is; the numbers are the contract's."""

    COMPUTE = 1
    GRAPHICS = 2
    MPS = 3


class MigMode(enum.IntEnum):
    """Whether a GPU is split; the numbers are the contract's."""

    UNKNOWN = 0
    UNSUPPORTED = 1
    DISABLED = 2
    ENABLED = 3


class MissingKind(enum.IntEnum):
    """What kind of thing an answer lacks; the numbers are the contract's."""

    DRIVER = 1
    GPU = 2
    PROCESS = 3
    CONTAINER = 4
    RUNTIME = 5
    POD = 6


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that could not be found out, and why."""

    kind: MissingKind
    subject: str
    """Which one: a GPU UUID or "gpu 3", a container id, a pid. Empty: all of that kind."""
    reason: str


@dataclass(frozen=True, slots=True)
class MigDevice:
    """A slice of a GPU that has processes of its own."""

    gpu_instance: int
    compute_instance: int
    uuid: str


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """One process on one GPU, or on one MIG device of it."""

    pid: Pid
    types: tuple[ProcessType, ...]
    """Ascending, at least one."""
    used_memory_bytes: int | None
    mig: MigDevice | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One physical GPU at one moment."""

    index: int
    uuid: GpuUuid
    name: str
    pci_address: str
    memory_total_bytes: int | None
    memory_used_bytes: int | None
    utilization_percent: int | None
    mig_mode: MigMode
    processes: tuple[GpuProcess, ...]
    """One for each (pid, MIG device)."""
    processes_whole: bool = True
    """Whether those are all: each list that the driver has of them was got."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One point in time on two clocks, both in seconds."""

    wall: float
    """Since the epoch: for people."""
    boot: float
    """CLOCK_BOOTTIME: what the kernel dates the start of a process by."""


@dataclass(frozen=True, slots=True)
class GpuSample:
    """What the driver said of every GPU, and what it would not say."""

    taken: Moment | None
    """Before the first process list was asked for. None: the driver has not answered."""
    gpus: tuple[Gpu, ...]
    """By index."""
    missing: tuple[Missing, ...] = ()


class GpuSource(Protocol):
    """Something that can be asked for the state of the node's GPUs."""

    async def sample(self, deadline_s: float) -> GpuSample:
        """Ask the driver now, waiting ``deadline_s`` seconds at most.

        Never raises for what the driver does: a fault, a hang or an absence is told in the
        sample's ``missing``, beside whatever is known.
        """
        ...

    async def close(self) -> None:
        """Give back what is held. Nothing can be sampled afterwards."""
        ...
