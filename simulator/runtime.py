"""The container runtime of a simulated node: the twin of `nodeagent.containers.containerd`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.runtime import (
    ContainerRuntime,
    RuntimeContainer,
    RuntimeUnavailableError,
)
from simulator.kinds import ContainerKind, ContainerState, RuntimeFault
from simulator.model import SimContainer, SimNode

POLL_S = 0.01
"""How soon a call that hangs notices that the fault was taken away."""


class SimulatedRuntime(ContainerRuntime):
    """Knows the containers of ``node``, save those of another runtime."""

    def __init__(self, node: SimNode) -> None:
        self._node = node

    def __str__(self) -> str:
        """For messages."""
        return f"{self._node.runtime_version} (simulated)"

    async def containers(self, timeout_s: float) -> Mapping[ContainerId, RuntimeContainer]:
        """Every container the runtime knows, by id.

        Raises:
            RuntimeUnavailableError: the node's runtime fault is DOWN or HANGS, or it is too slow.
        """
        await self._answer(timeout_s)
        return {container.id: _described(container) for container in self._known()}

    async def running(self, timeout_s: float) -> tuple[ContainerId, ...]:
        """The containers with a running task. One with a stuck shim is missing, as in containerd.

        Raises:
            RuntimeUnavailableError: as for `containers`.
        """
        await self._answer(timeout_s)
        return tuple(
            container.id
            for container in self._known()
            if container.state is ContainerState.RUNNING and not container.shim_stuck
        )

    async def pids(self, container: ContainerId, timeout_s: float) -> tuple[Pid, ...]:
        """The processes of one container; none if it does not run, or is not known.

        Raises:
            RuntimeUnavailableError: as for `containers`; or its shim is stuck, after
                ``timeout_s``.
        """
        await self._answer(timeout_s)
        found = self._node.containers.get(container)
        if found is None or found.kind is ContainerKind.FOREIGN:
            return ()
        await _while(lambda: found.shim_stuck, timeout_s, f"the shim of container {container}")
        return tuple(process.pid for process in found.processes if not process.exited)

    def generation(self) -> int | None:
        """The node's count of changes; None while the runtime does not answer."""
        fault = self._node.runtime_fault
        return self._node.generation if fault is RuntimeFault.NONE else None

    async def close(self) -> None:
        """Nothing is held."""

    def _known(self) -> list[SimContainer]:
        containers = self._node.containers.values()
        return [each for each in containers if each.kind is not ContainerKind.FOREIGN]

    async def _answer(self, timeout_s: float) -> None:
        node = self._node
        if node.runtime_delay_s:
            await asyncio.sleep(min(node.runtime_delay_s, timeout_s))
            if node.runtime_delay_s >= timeout_s:
                raise RuntimeUnavailableError(f"the runtime did not answer in {timeout_s:g} s")
        await _while(
            lambda: node.runtime_fault is RuntimeFault.HANGS, timeout_s, "the container runtime"
        )
        if node.runtime_fault is RuntimeFault.DOWN:
            raise RuntimeUnavailableError(
                "the container runtime cannot be reached: connection refused"
            )


def _described(container: SimContainer) -> RuntimeContainer:
    pod = container.pod
    if pod is None:
        return RuntimeContainer(container.id)
    sandbox = container.kind is ContainerKind.SANDBOX
    return RuntimeContainer(
        id=container.id,
        pod=pod.name,
        namespace=pod.namespace,
        pod_uid=pod.runtime_uid,
        name="" if sandbox else container.name,
        is_sandbox=sandbox,
    )


async def _while(hanging: Callable[[], bool], timeout_s: float, what: str) -> None:
    """Return once ``hanging`` is false; raise when it has been true for ``timeout_s``."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    while hanging():
        if asyncio.get_running_loop().time() >= deadline:
            raise RuntimeUnavailableError(f"{what} did not answer in {timeout_s:g} s")
        await asyncio.sleep(min(POLL_S, timeout_s))
