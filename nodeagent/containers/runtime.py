"""The interface to the node's container runtime, and what it tells, as values.

containerd is behind it in `nodeagent.containers.containerd`, the simulator in
`simulator.runtime`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gpupods.identity import ContainerId, Pid


class RuntimeUnavailableError(Exception):
    """The runtime cannot be reached or will not answer; the message says what was tried."""


@dataclass(frozen=True, slots=True)
class RuntimeContainer:
    """A container as the runtime's own labels describe it; empty where a label is absent."""

    id: ContainerId
    pod: str = ""
    namespace: str = ""
    pod_uid: str = ""
    name: str = ""
    is_sandbox: bool = False


class ContainerRuntime(Protocol):
    """Something that knows the containers of a node."""

    async def containers(self, timeout_s: float) -> Mapping[ContainerId, RuntimeContainer]:
        """Every container the runtime knows, by id.

        Raises:
            RuntimeUnavailableError: it did not answer.
        """
        ...

    async def running(self, timeout_s: float) -> tuple[ContainerId, ...]:
        """The containers with a running task.

        Raises:
            RuntimeUnavailableError: it did not answer.
        """
        ...

    async def pids(self, container: ContainerId, timeout_s: float) -> tuple[Pid, ...]:
        """The processes of one container, nested ones too; none if it does not run (any more).

        Raises:
            RuntimeUnavailableError: it did not answer; one container's monitor may be stuck.
        """
        ...

    def generation(self) -> int | None:
        """A number that changes whenever the set of containers does.

        None: not known at present, so nothing that was learnt earlier may be relied on.
        """
        ...

    async def close(self) -> None:
        """Give back what is held."""
        ...


class NoRuntime:
    """The runtime of a node where none is to be asked, so that cgroups alone tell containers.

    For nodes whose runtime speaks another API than containerd's: CRI-O, Docker.
    """

    async def containers(self, timeout_s: float) -> Mapping[ContainerId, RuntimeContainer]:
        """None."""
        del timeout_s
        return {}

    async def running(self, timeout_s: float) -> tuple[ContainerId, ...]:
        """None."""
        del timeout_s
        return ()

    async def pids(self, container: ContainerId, timeout_s: float) -> tuple[Pid, ...]:
        """None."""
        del container, timeout_s
        return ()

    def generation(self) -> int | None:
        """Always the same: nothing ever changes."""
        return 0

    async def close(self) -> None:
        """Nothing is held."""
