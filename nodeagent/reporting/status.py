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
        put_right: How often somebody else changed what is ours, and it was undone.
        events_written: Events that the API server took.
        events_lost: Events that were given up.
        follows: Whether the Node has been read, and is there.
        another_agent: Whether this agent leaves it to another one of this node.
        write_problem: Why the Node does not carry what it should; "" where it does.
        follow_problem: Why it is not known what the Node carries; "" where it is.
    """

    written: int = 0
    failed: int = 0
    last_written: float | None = None
    put_right: int = 0
    events_written: int = 0
    events_lost: int = 0
    follows: bool = False
    another_agent: bool = False
    write_problem: str = ""
    follow_problem: str = ""

    @property
    def problem(self) -> str:
        """Why the Node may not carry what it should; "" where it does."""
        return self.write_problem or self.follow_problem

    @property
    def pending(self) -> bool:
        """Whether the Node may not carry what it should; also where there is no such Node."""
        return bool(self.problem) or not (self.follows or self.another_agent)


class Reporting(Protocol):
    """What tells Kubernetes of a node's GPUs."""

    @property
    def status(self) -> ReportStatus:
        """How it goes now."""
        ...

    async def start(self) -> None:
        """Begin; returns at once, whatever the API server does."""

    async def stop(self) -> None:
        """End. What the Node carries stays."""
