"""One GPU's health as it is remembered: a value that `nodeagent.health.machine` makes anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from nodeagent.health.causes import Cause
from nodeagent.health.observations import Word


@dataclass(frozen=True, slots=True)
class Now:
    """This moment. Only ``boot_s`` is ever measured by; ``wall`` is for people."""

    boot_id: str
    boot_s: float
    wall: float


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a GPU, from when it was noticed until its evidence is there."""

    cause: Cause
    boot_id: str
    """Of its last occurrence."""
    last_s: float
    """Of its last occurrence, in that boot."""
    since_wall: float
    source: str
    detail: str
    accepted: Word | None = None
    """An operator knows of it and wants the GPU to be given all the same."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A fault that has ended: what happened up to then is not news when it is told again."""

    cause: Cause
    last_s: float


@dataclass(frozen=True, slots=True)
class Clean:
    """How long a GPU has given no reason for complaint."""

    since_s: float
    last_s: float
    readings: int


@dataclass(frozen=True, slots=True)
class GpuState:
    """All that is remembered of one GPU. `GpuState()` is one never heard of."""

    boot_id: str = ""
    clock_s: float = 0.0
    """The latest moment of this boot that was seen: time never runs back."""
    faults: tuple[Fault, ...] = ()
    """By cause."""
    exclusion: Word | None = None
    heeded_wall: float | None = None
    """When the last word was given that restored it: the same one again is not news."""
    settled: tuple[Settled, ...] = ()
    """Of this boot, by cause."""
    clean: Clean | None = None
    reset_s: float | None = None
    """When the GPU was last seen to have been reset, in this boot."""
    relapses: int = 0
    """How often it has turned unfit, since it last was fit for long."""
    fit_since_s: float | None = None
    away: bool = False
    """When last read it was not there."""
    asks_for_reset: bool = False
    """When last read, its recovery action was one that a reset ends."""
    uncorrectable_errors: int | None = None
    unreadable: int = 0
    """How many readings in a row have failed."""
    remap_pending: bool = False

    @property
    def fit(self) -> bool:
        """Whether it may be given to somebody."""
        return self.exclusion is None and not self.counting

    @property
    def counting(self) -> tuple[Fault, ...]:
        """The faults that an operator has not accepted."""
        return tuple(fault for fault in self.faults if fault.accepted is None)

    def fault(self, cause: Cause) -> Fault | None:
        """The fault of this cause, if there is one."""
        return next((fault for fault in self.faults if fault.cause == cause), None)

    def with_fault(self, fault: Fault) -> GpuState:
        """With this fault, in the place of one of the same cause."""
        others = [known for known in self.faults if known.cause != fault.cause]
        faults = sorted([*others, fault], key=lambda each: each.cause)
        return replace(self, faults=tuple(faults))

    def keeping(self, keep: Callable[[Fault], bool]) -> GpuState:
        """Without the faults that ``keep`` does not want."""
        return replace(self, faults=tuple(fault for fault in self.faults if keep(fault)))

    def settling(self, fault: Fault) -> GpuState:
        """With this fault remembered as ended: what happened in this boot can be told again."""
        if fault.boot_id != self.boot_id:
            return self
        others = [old for old in self.settled if old.cause != fault.cause]
        settled = sorted([*others, Settled(fault.cause, fault.last_s)], key=lambda old: old.cause)
        return replace(self, settled=tuple(settled))
