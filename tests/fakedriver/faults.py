"""What goes wrong in the fake NVIDIA driver: faults in calls, and events such as XIDs.

A `Fault` stands in a `Scenario` and holds as long as it stands there; an `Event` happens
once, when `FakeDriver.post` is called.
"""

import enum
import signal
from dataclasses import dataclass
from typing import Self


class NvmlReturn(enum.IntEnum):
    """The codes of nvmlReturn_t that tests ask for; any other number may be used too."""

    UNINITIALIZED = 1
    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    NOT_FOUND = 6
    INSUFFICIENT_SIZE = 7
    DRIVER_NOT_LOADED = 9
    TIMEOUT = 10
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    LIB_RM_VERSION_MISMATCH = 18
    GPU_NOT_FOUND = 28
    UNKNOWN = 999


class EventType(enum.IntFlag):
    """The bits of nvmlEventType."""

    SINGLE_BIT_ECC = 0x1
    DOUBLE_BIT_ECC = 0x2
    PSTATE = 0x4
    XID = 0x8
    CLOCK = 0x10


ALL_EVENT_TYPES = (
    EventType.SINGLE_BIT_ECC
    | EventType.DOUBLE_BIT_ECC
    | EventType.PSTATE
    | EventType.XID
    | EventType.CLOCK
)
"""What a data-centre GPU supports."""


class FaultAction(enum.Enum):
    """What a fault does to a call."""

    RETURN = "return"
    HANG = "hang"
    DELAY = "delay"
    CRASH = "crash"
    GROW = "grow"


@dataclass(frozen=True)
class Fault:
    """A fault in the calls that match; made by `returns`, `hangs`, `delays`, `crashes`, `grows`.

    `function` is a name of NVML's or a pattern of the shell's (`*`,
    `nvmlDeviceGet*RunningProcesses_v3`), `gpu` the UUID of a GPU (its MIG devices are meant
    too) or of a MIG device, or None for any call. `times` limits how many calls it strikes,
    counted over all processes that load the library; None: every call, while it stands in
    the scenario. Faults are met in their order; delays add up, and the first that returns,
    hangs or crashes decides. A call of the uninitialised library meets none.
    """

    action: FaultAction
    value: int = 0
    function: str = "*"
    gpu: str | None = None
    times: int | None = None

    @classmethod
    def returns(
        cls, code: int, function: str = "*", *, gpu: str | None = None, times: int | None = None
    ) -> Self:
        """The call answers this nvmlReturn_t."""
        return cls(FaultAction.RETURN, code, function, gpu, times)

    @classmethod
    def hangs(
        cls, function: str = "*", *, gpu: str | None = None, times: int | None = None
    ) -> Self:
        """The call does not come back until a scenario without this fault is written."""
        return cls(FaultAction.HANG, 0, function, gpu, times)

    @classmethod
    def delays(
        cls,
        milliseconds: int,
        function: str = "*",
        *,
        gpu: str | None = None,
        times: int | None = None,
    ) -> Self:
        """The call takes that much longer."""
        return cls(FaultAction.DELAY, milliseconds, function, gpu, times)

    @classmethod
    def crashes(
        cls,
        signal_number: int = signal.SIGSEGV,
        function: str = "*",
        *,
        gpu: str | None = None,
        times: int | None = None,
    ) -> Self:
        """The calling process ends by this signal."""
        return cls(FaultAction.CRASH, signal_number, function, gpu, times)

    @classmethod
    def grows(
        cls,
        by: int,
        function: str = "*RunningProcesses*",
        *,
        gpu: str | None = None,
        times: int | None = 1,
    ) -> Self:
        """A process list has `by` more entries when it is fetched than when its size was asked."""
        return cls(FaultAction.GROW, by, function, gpu, times)


@dataclass(frozen=True)
class Event:
    """An event for the event sets that listen for it; posted by `FakeDriver.post`."""

    gpu: str | None
    """UUID; None: an event without a device, as real drivers have been seen to send."""
    data: int = 0
    type: EventType = EventType.XID
    gpu_instance: int | None = None
    compute_instance: int | None = None

    @classmethod
    def xid(cls, gpu: str | None, number: int) -> Self:
        """The XID of that number on the GPU of that UUID."""
        return cls(gpu, number)
