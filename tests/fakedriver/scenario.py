"""What the fake NVIDIA driver pretends is true: frozen values that a test writes down.

Memory is in bytes, utilisation in percent, times in microseconds. `None` stands for what a
real GPU answers with "not supported" or "not available". `driver.FakeDriver` puts a
`Scenario` before the running library; the text it travels in is `scenario_format`'s.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from tests.fakedriver.faults import ALL_EVENT_TYPES, EventType, Fault

MIB = 1024 * 1024
GIB = 1024 * MIB


class ProcessKind(enum.IntFlag):
    """In which of NVML's process lists a process stands; several may be joined by `|`."""

    COMPUTE = 1
    GRAPHICS = 2
    MPS = 4


class RecoveryAction(enum.IntEnum):
    """What a GPU says that it needs before it is fit again."""

    NONE = 0
    GPU_RESET = 1
    NODE_REBOOT = 2
    DRAIN_P2P = 3
    DRAIN_AND_RESET = 4


@dataclass(frozen=True)
class Process:
    """A process on a GPU, or on the MIG device that lists it."""

    pid: int
    memory: int | None = 512 * MIB
    """Bytes; None is reported as 2^64-1, the driver's "not available"."""
    kinds: ProcessKind = ProcessKind.COMPUTE
    name: str = ""
    """For nvmlSystemGetProcessName; empty: looked up in /proc, as for a process that runs."""


@dataclass(frozen=True)
class UtilizationSample:
    """One entry of nvmlDeviceGetProcessUtilization; values over 100 are passed on as they are."""

    pid: int
    timestamp: int
    """Microseconds; a caller gets the samples newer than the one it has seen last."""
    sm: int = 0
    memory: int = 0
    encoder: int = 0
    decoder: int = 0


@dataclass(frozen=True)
class MigInstance:
    """A MIG device. Its processes are listed at its own handle and, added up, at the GPU's."""

    uuid: str
    index: int
    """Its place under the GPU: what nvmlDeviceGetMigDeviceHandleByIndex is asked for."""
    gpu_instance: int
    compute_instance: int = 0
    name: str = "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
    memory_total: int = 10 * GIB
    memory_used: int = 0
    memory_reserved: int = 0
    processes: tuple[Process, ...] = ()


@dataclass(frozen=True)
class RemappedRows:
    """The answer of nvmlDeviceGetRemappedRows."""

    correctable: int = 0
    uncorrectable: int = 0
    pending: bool = False
    failure: bool = False


@dataclass(frozen=True)
class EccErrors:
    """The answers of nvmlDeviceGetTotalEccErrors."""

    volatile_corrected: int = 0
    volatile_uncorrected: int = 0
    aggregate_corrected: int = 0
    aggregate_uncorrected: int = 0


@dataclass(frozen=True)
class Gpu:
    """A GPU. `Gpu.number(i)` makes a plausible one; `replace` or keywords change it."""

    uuid: str
    pci: str
    """As nvidia-smi prints it: domain:bus:device.function, `00000000:1B:00.0`."""
    minor: int
    name: str = "NVIDIA H100 80GB HBM3"
    serial: str = ""
    """Empty: not supported, as on GeForce cards."""
    board_id: int | None = None
    pci_device_id: int = 0x233010DE
    pci_subsystem_id: int = 0x16C110DE
    memory_total: int = 80 * GIB
    memory_used: int = 0
    """Without what is reserved; not derived from the processes."""
    memory_reserved: int = 0
    utilization: int | None = 0
    """Percent; None, or MIG switched on: not supported."""
    utilization_memory: int = 0
    processes: tuple[Process, ...] = ()
    samples: tuple[UtilizationSample, ...] = ()
    mig: bool | None = False
    """None: a GPU without MIG."""
    mig_pending: bool | None = None
    """None: as `mig`."""
    mig_instances: tuple[MigInstance, ...] = ()
    mig_max: int = 7
    mig_aggregate: bool = True
    """Under MIG, whether the GPU's own handle lists the processes of all its MIG devices, as
    it does for a privileged caller; else it lists none."""
    lost: bool = False
    """Fallen off the bus: every call for it answers GPU_IS_LOST."""
    enumerated: bool = True
    """False: it is not counted, and later GPUs move up one index. Handles held stay its own."""
    event_types: EventType = ALL_EVENT_TYPES
    recovery_action: int | None = RecoveryAction.NONE
    """None: a driver or a card that does not know the field."""
    remapped_rows: RemappedRows | None = field(default_factory=RemappedRows)
    ecc: EccErrors | None = field(default_factory=EccErrors)

    @classmethod
    def number(cls, index: int, *processes: Process, **changes: Any) -> Self:
        """The GPU of that index: its UUID, PCI address and minor number follow from it."""
        plain = cls(
            uuid=f"GPU-{index:08x}-0000-4000-8000-{index:012x}",
            pci=f"00000000:{0x10 + index:02X}:00.0",
            minor=index,
            serial=f"165{index:010d}",
            board_id=(0x10 + index) << 8,
            processes=processes,
        )
        return replace(plain, **changes)


@dataclass(frozen=True)
class Scenario:
    """The whole of it, faults included.

    The driver's version decides behaviour too: 535.43 to before 535.86 fill the `_v3`
    process lists wrongly, as those drivers do.
    """

    gpus: tuple[Gpu, ...] = ()
    faults: tuple[Fault, ...] = ()
    driver_version: str = "580.65.06"
    nvml_version: str = "13.580.65.06"
    cuda_version: int = 13000
    """1000 * major + 10 * minor."""
    enumerate_at_init: bool = False
    """True: which GPUs there are is found out at initialisation only, as real drivers do it;
    False: a GPU added or no longer enumerated is seen at once."""

    def gpu(self, uuid: str) -> Gpu:
        """The GPU of that UUID; KeyError where there is none."""
        for candidate in self.gpus:
            if candidate.uuid == uuid:
                return candidate
        raise KeyError(uuid)

    def with_gpu(self, uuid: str, change: Callable[[Gpu], Gpu] | None = None, **to: Any) -> Self:
        """With one GPU changed: by a function of it, or by the fields given."""
        new = change(self.gpu(uuid)) if change else self.gpu(uuid)
        new = replace(new, **to)
        return replace(self, gpus=tuple(new if old.uuid == uuid else old for old in self.gpus))

    def with_faults(self, *faults: Fault) -> Self:
        """With these faults and no others."""
        return replace(self, faults=faults)
