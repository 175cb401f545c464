"""The interface to the node's process table. /proc is behind it in `nodeagent.processes.proc`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gpupods.identity import Pid


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What the kernel says of one process, all read of the same process."""

    pid: Pid
    name: str
    """The command name (comm); empty if it could not be read."""
    start_boot_s: float
    """When it started, in seconds of CLOCK_BOOTTIME, to a hundredth."""
    cgroup: str | None
    """The text of /proc/<pid>/cgroup; None if it could not be read."""


class ProcessTable(Protocol):
    """Something that knows the processes of a node."""

    def read(self, pid: Pid) -> ProcessFacts | None:
        """Everything about ``pid``; None if there is no such process (any more)."""
        ...

    def sees_host_pids(self) -> bool:
        """Whether pids are counted as the node itself counts them (``hostPID: true``)."""
        ...
