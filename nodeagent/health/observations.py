"""What sources tell, as values. Times are seconds of CLOCK_BOOTTIME unless they say wall.

A source names a GPU by what it knows: UUID, PCI address, or only that it is the whole driver.
`nodeagent.health.monitor` finds the GPU and hands each what concerns it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gpupods.identity import GpuUuid


class Presence(enum.Enum):
    """How a GPU took being read."""

    PRESENT = "present"
    LOST = "lost"
    """The driver says so."""
    MISSING = "missing"
    """The driver lists its GPUs, and this one is not among them."""
    RESET_REQUIRED = "reset-required"
    UNREADABLE = "unreadable"
    """It is listed and answered with another error."""
    DRIVER_HANGS = "driver-hang"
    DRIVER_UNAVAILABLE = "driver-unavailable"
    DRIVER_NOT_LOADED = "driver-not-loaded"
    """Unavailable too, and by its own word: loading it again starts the GPUs anew."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One GPU's answer to the questions of health. None: it cannot tell."""

    presence: Presence
    recovery_action: int | None = None
    remap_failure: bool | None = None
    remap_pending: bool | None = None
    uncorrectable_errors: int | None = None
    """Since the driver was loaded or the GPU was reset."""
    detail: str = ""
    source: str = "nvml"


@dataclass(frozen=True, slots=True)
class XidSeen:
    """The driver has reported an XID of one GPU."""

    xid: int
    at_s: float
    """When it happened, in the present boot."""
    source: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Word:
    """An operator's word."""

    who: str
    why: str
    given_wall: float
    until_wall: float | None = None
    """None: until it is taken back."""
    node: str = ""
    """The uid of the Node that carries it, and alone can take it back; empty: it was said here."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a Node carries of an operator's: a word on the GPU of one index."""

    word: Word
    restores: bool
    """Else it excludes."""
    uuid: str = ""
    """The board it was said of; empty: whichever is there."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """An operator wants nobody to be given this GPU."""

    word: Word


@dataclass(frozen=True, slots=True)
class Restored:
    """An operator has looked, and wants it to be given again, for all that was up to then."""

    word: Word


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The operator's exclusion holds no longer. What else there is against the GPU stays."""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Nothing has happened."""


Seen = Reading | XidSeen | Excluded | Restored | TakenBack | TimePassed


@dataclass(frozen=True, slots=True)
class ListedGpu:
    """One GPU as a source found it."""

    index: int
    """As the driver counts now."""
    uuid: GpuUuid
    """Empty: it did not tell."""
    pci_address: str
    """Empty: it did not tell."""
    name: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class DriverRead:
    """The driver has answered: these GPUs and no others are listed."""

    gpus: tuple[ListedGpu, ...]


@dataclass(frozen=True, slots=True)
class DriverSilent:
    """The driver does not answer, or cannot be asked: it concerns every GPU."""

    presence: Presence
    reason: str


@dataclass(frozen=True, slots=True)
class XidOfGpu:
    """An XID with the name of its GPU: a UUID, a PCI address, or neither."""

    uuid: GpuUuid
    pci_address: str
    seen: XidSeen


@dataclass(frozen=True, slots=True)
class SourceTrouble:
    """A source cannot see what it should. Empty: it can again."""

    source: str
    problem: str


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """A source has told all that there was before it began, or knows that it cannot."""

    source: str


Told = DriverRead | DriverSilent | XidOfGpu | SourceTrouble | CaughtUp

Tell = Callable[[Told], None]


class HealthSource(Protocol):
    """Something that notices. Its simulated twin tells the same."""

    async def watch(self, tell: Tell) -> None:
        """Tell what there is to tell, until cancelled.

        Never raises for what the other side does: that is told as `SourceTrouble`.
        """
        ...
