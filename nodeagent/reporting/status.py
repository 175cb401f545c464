"""How reporting goes, as values: for the doctor, metrics and whoever starts it. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class ReportStatus:
    """What has happened so far.

    Attributes:
        written: Patches that the API server took.
        failed: Attempts that it did not.
        last_written: Of the last one, in seconds since the epoch; None: none yet.
        problem: Why the Node does not carry what it should; "" where it does.
        follows: Whether the Node has been read.
        foreign: How often somebody else changed what is ours, and it was set right.
        events_written: Events that the API server took.
        events_lost: Events that were given up.
    """

    written: int = 0
    failed: int = 0
    last_written: float | None = None
    problem: str = ""
    follows: bool = False
    foreign: int = 0
    events_written: int = 0
    events_lost: int = 0


class Reporting(Protocol):
    """What tells Kubernetes of a node's GPUs."""

    @property
    def status(self) -> ReportStatus:
        """How it goes."""
        ...

    async def start(self) -> None:
        """Begin; returns at once, whatever the API server does."""

    async def stop(self) -> None:
        """End. What the Node carries stays."""
