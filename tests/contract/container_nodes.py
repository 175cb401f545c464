"""A node whose containers a test arranges, whatever is behind it.

It may have containers that the test did not make, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.runtime import ContainerRuntime
from nodeagent.gpus.sample import Moment
from nodeagent.processes.table import ProcessTable
from tests.realparts.objects import PodIdentity

NESTED = 4
"""Processes in each container: a shell, its children, and a child of one of those."""


@dataclass(frozen=True)
class Made:
    """A container that a test made; ``pids`` has the first process first."""

    id: ContainerId
    pod: PodIdentity
    pids: tuple[Pid, ...]


class ContainerNode(Protocol):
    """What a test may do to the node."""

    runtime: ContainerRuntime
    table: ProcessTable

    def now(self) -> Moment:
        """The time, by the node's clocks."""

    def run(self, name: str = "main", *, shape: str = "") -> tuple[Made, Made]:
        """Start a pod of one container: the sandbox, and the container."""

    def run_foreign(self) -> Made:
        """Start a container that is not the kubelet's."""

    def host_process(self) -> Pid:
        """Start a process in no container."""

    def end(self, container: Made) -> None:
        """End its processes; the runtime still knows it."""

    def delete(self, container: Made) -> None:
        """End its processes, and have the runtime forget it."""

    @contextmanager
    def stuck(self, container: Made) -> Iterator[None]:
        """Have the runtime get no answer about this container and its sandbox."""
        ...

    async def stop_runtime(self) -> None:
        """Have nobody listen for the runtime's clients."""

    async def start_runtime(self) -> None:
        """Have it listen again."""
