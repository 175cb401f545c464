"""What has been found out about a process: its container, or why it has none. Values only."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.runtime import RuntimeContainer
from nodeagent.gpus.sample import Missing, Moment


class Unattributed(enum.IntEnum):
    """Why a process has no pod; the numbers are the contract's."""

    HOST_PROCESS = 1
    OTHER_RUNTIME = 2
    UNKNOWN_CONTAINER = 3
    PROCESS_EXITED = 4
    PID_REUSED = 5
    UNDETERMINED = 6


@dataclass(frozen=True, slots=True)
class IdentifiedProcess:
    """One process and its container; exactly one of ``container`` and ``reason`` is set."""

    pid: Pid
    name: str
    start_boot_s: float | None
    container: ContainerId | None
    reason: Unattributed | None = None
    detail: str = ""
    """What was seen, for a person; for example the cgroup of a host process."""


@dataclass(frozen=True, slots=True)
class Identification:
    """The containers of a set of processes."""

    processes: Mapping[Pid, IdentifiedProcess]
    """One for each pid that was asked about."""
    containers: Mapping[ContainerId, RuntimeContainer]
    """What the runtime said of containers; at least those in ``processes`` it knows."""
    missing: tuple[Missing, ...] = ()


class Identifier(Protocol):
    """Something that finds the containers of processes."""

    async def identify(
        self, pids: Iterable[Pid], sampled: Moment, timeout_s: float
    ) -> Identification:
        """Find the container of each of ``pids``, which were seen alive at ``sampled``.

        Never raises for what the node does: what fails is in ``missing``.
        """
        ...
