"""The kubelet's side of device plugins: which pod has which device, and who is asked for it.

It does what the kubelet does, as far as a plugin can tell: a socket for each start, one container
after the other. The plugins themselves are `simulator.kubelet_plugins`'.
"""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc

from gpupods.identity import PodRef
from nodeagent.kubelet_api import deviceplugin_pb2_grpc as pb_grpc
from nodeagent.kubelet_api import podresources_pb2 as resources_pb
from nodeagent.kubelet_api import podresources_pb2_grpc as resources_grpc
from simulator.kubelet_plugins import Context, KubeletPlugins, Plugin, PodRefusedError

SOCKET = "kubelet.sock"


@dataclass(frozen=True, slots=True)
class SimContainer:
    """A container, with its limits of resources that plugins have."""

    name: str
    limits: Mapping[str, int]
    init: bool = False
    """It ends before the others start, and pod resources do not tell of it."""


class SimulatedKubelet(resources_grpc.PodResourcesListerServicer):
    """One node's kubelet.

    Args:
        folder: Where it and the plugins have their sockets.
        pod_resources: The path of its other socket.
    """

    def __init__(self, folder: Path, pod_resources: Path) -> None:
        self.folder = folder
        self._pod_resources = pod_resources
        self._plugins = KubeletPlugins(folder)
        self._held: dict[tuple[PodRef, str, str], tuple[str, ...]] = {}
        """Pod, container, resource -> devices. It outlives a restart, as the real one's file."""
        self._untold: set[tuple[PodRef, str]] = set()
        self._servers: list[grpc.aio.Server] = []
        self._admitting = asyncio.Lock()

    async def start(self) -> None:
        """Remove what sockets there are, and listen."""
        for path in self.folder.iterdir():
            if stat.S_ISSOCK(path.stat().st_mode):
                path.unlink()
        for path in (self.folder / SOCKET, self._pod_resources):
            path.unlink(missing_ok=True)
            server = grpc.aio.server()
            pb_grpc.add_RegistrationServicer_to_server(self._plugins, server)
            resources_grpc.add_PodResourcesListerServicer_to_server(self, server)
            server.add_insecure_port(f"unix:{path}")
            await server.start()
            self._servers.append(server)

    async def stop(self) -> None:
        """End, and forget the plugins."""
        await self._plugins.forget()
        for server in self._servers:
            await server.stop(grace=None)
        self._servers = []
        (self.folder / SOCKET).unlink(missing_ok=True)

    async def drop(self, resource: str) -> None:
        """Give up the plugins of ``resource``, as after a message that was too long."""
        await self._plugins.drop(resource)

    # What the Node shows

    @property
    def capacity(self) -> dict[str, int]:
        """As in ``status.capacity``: unhealthy devices count."""
        resources = self._plugins.resources.items()
        return {name: len(each.healthy) + len(each.unhealthy) for name, each in resources}

    @property
    def allocatable(self) -> dict[str, int]:
        """As in ``status.allocatable``."""
        return {name: len(each.healthy) for name, each in self._plugins.resources.items()}

    def lists_of(self, resource: str) -> int:
        """How many lists of devices have come since the start."""
        known = self._plugins.resources.get(resource)
        return known.lists if known is not None else 0

    def devices_of(self, pod: PodRef, container: str, resource: str) -> tuple[str, ...]:
        """What a container has."""
        return self._held.get((pod, container, resource), ())

    # Pods

    async def run_pod(
        self, pod: PodRef, containers: Sequence[SimContainer]
    ) -> dict[str, dict[str, str]]:
        """Let a pod in and start its containers.

        Returns: container -> environment.

        Raises:
            PodRefusedError: a plugin has refused.
        """
        given = await self.admit(pod, containers)
        await self.start_containers(pod, containers)
        return given

    async def admit(
        self, pod: PodRef, containers: Sequence[SimContainer]
    ) -> dict[str, dict[str, str]]:
        """Have devices for a pod; none where one of its containers gets none."""
        async with self._admitting:
            reusable: dict[str, set[str]] = {}
            try:
                return {each.name: await self._allocate(pod, each, reusable) for each in containers}
            except PodRefusedError:
                self.remove_pod(pod)
                raise

    async def start_containers(self, pod: PodRef, containers: Iterable[SimContainer]) -> None:
        """Ask the plugins, as before each start of a container."""
        for container in containers:
            for resource in container.limits:
                ids = self.devices_of(pod, container.name, resource)
                await self._plugins.of(resource).check(ids)

    def remove_pod(self, pod: PodRef) -> None:
        """Its devices are free."""
        self._held = {key: ids for key, ids in self._held.items() if key[0] != pod}

    async def _allocate(
        self, pod: PodRef, container: SimContainer, reusable: dict[str, set[str]]
    ) -> dict[str, str]:
        """Have devices for one container; those of init containers are used again."""
        given: dict[str, str] = {}
        if container.init:
            self._untold.add((pod, container.name))
        for resource, count in container.limits.items():
            plugin = self._plugins.of(resource)
            again = reusable.setdefault(resource, set())
            ids = sorted(again)[:count]
            if len(ids) < count:
                ids = await self._choose(resource, ids, count, plugin)
            reusable[resource] = again | set(ids) if container.init else again - set(ids)
            environment = await plugin.allocate(ids)
            self._held[pod, container.name, resource] = tuple(ids)
            given |= environment
        return given

    async def _choose(
        self, resource: str, first: list[str], count: int, plugin: Plugin
    ) -> list[str]:
        """As many devices as that, ``first`` among them."""
        held = {each for (_, _, of), ids in self._held.items() if of == resource for each in ids}
        free = sorted(self._plugins.resources[resource].healthy - held, reverse=True)
        needed = count - len(first)
        if len(free) < needed:
            raise PodRefusedError(
                f"requested number of devices unavailable for {resource}. Requested: {needed}, "
                f"Available: {len(free)}"
            )
        if not plugin.options.get_preferred_allocation_available:
            return [*first, *free[:needed]]
        wanted = await plugin.prefer(first, free, count)
        return [*first, *sorted(free, key=lambda each: each not in wanted)[:needed]]

    async def List(  # noqa: N802
        self, request: resources_pb.ListPodResourcesRequest, context: Context
    ) -> resources_pb.ListPodResourcesResponse:
        """Which container has which devices."""
        del request, context
        answer = resources_pb.ListPodResourcesResponse()
        for (pod, container, resource), ids in self._held.items():
            if (pod, container) in self._untold:
                continue
            made = answer.pod_resources.add(name=pod.name, namespace=pod.namespace)
            held = made.containers.add(name=container)
            held.devices.add(resource_name=resource, device_ids=ids)
        return answer
