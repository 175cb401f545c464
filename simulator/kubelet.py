"""The kubelet's side of device plugins: takes registrations, and asks plugins for pods' devices.

It does what the kubelet's device manager does, as far as a plugin can tell: a socket for each
start, a stream for each plugin with its limit of a message, one container after the other.
"""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from gpupods.identity import PodRef
from nodeagent.kubelet_api import deviceplugin_pb2 as pb
from nodeagent.kubelet_api import deviceplugin_pb2_grpc as pb_grpc
from nodeagent.kubelet_api import podresources_pb2 as resources_pb
from nodeagent.kubelet_api import podresources_pb2_grpc as resources_grpc

SOCKET = "kubelet.sock"
VERSION = "v1beta1"
MOST_RECEIVED_BYTES = 4 * 1024 * 1024
LIMIT_S = 30.0

Context = grpc.aio.ServicerContext[Any, Any]


class PodRefusedError(Exception):
    """The pod is not let in, or a container of it does not start. The message is the plugin's."""


@dataclass(frozen=True, slots=True)
class SimContainer:
    """A container, with its limits of resources that plugins have."""

    name: str
    limits: Mapping[str, int]
    init: bool = False
    """It ends before the others start, and pod resources do not tell of it."""


@dataclass(slots=True)
class _Plugin:
    channel: grpc.aio.Channel
    stub: Any
    options: pb.DevicePluginOptions
    watching: asyncio.Task[None] | None = None


@dataclass(slots=True)
class _Resource:
    """What the kubelet knows of one resource."""

    healthy: set[str] = field(default_factory=set)
    unhealthy: set[str] = field(default_factory=set)
    plugins: dict[str, _Plugin] = field(default_factory=dict)
    """By the name of their socket; the last one is asked."""
    lists: int = 0
    """How often a list came."""


class SimulatedKubelet(pb_grpc.RegistrationServicer, resources_grpc.PodResourcesListerServicer):
    """One node's kubelet.

    Args:
        folder: Where it and the plugins have their sockets.
        pod_resources: The path of its other socket.
    """

    def __init__(self, folder: Path, pod_resources: Path) -> None:
        self.folder = folder
        self._pod_resources = pod_resources
        self._resources: dict[str, _Resource] = {}
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
            pb_grpc.add_RegistrationServicer_to_server(self, server)
            resources_grpc.add_PodResourcesListerServicer_to_server(self, server)
            server.add_insecure_port(f"unix:{path}")
            await server.start()
            self._servers.append(server)

    async def stop(self) -> None:
        """End, and forget the plugins."""
        for resource in self._resources:
            await self.drop(resource)
        self._resources = {name: _Resource() for name in self._resources}
        for server in self._servers:
            await server.stop(grace=None)
        self._servers = []
        (self.folder / SOCKET).unlink(missing_ok=True)

    async def drop(self, resource: str) -> None:
        """Give up the plugins of ``resource``, as after a message that was too long."""
        known = self._resources[resource]
        for name in tuple(known.plugins):
            await self._drop(known, name)

    # What the Node shows

    @property
    def capacity(self) -> dict[str, int]:
        """As in ``status.capacity``: unhealthy devices count."""
        return {
            name: len(each.healthy) + len(each.unhealthy) for name, each in self._resources.items()
        }

    @property
    def allocatable(self) -> dict[str, int]:
        """As in ``status.allocatable``."""
        return {name: len(each.healthy) for name, each in self._resources.items()}

    def lists_of(self, resource: str) -> int:
        """How many lists of devices have come since the start."""
        return self._resources[resource].lists if resource in self._resources else 0

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
                plugin = self._plugin(resource)
                if plugin.options.pre_start_required:
                    request = pb.PreStartContainerRequest(devices_ids=ids)
                    await _answered(plugin.stub.PreStartContainer(request, timeout=LIMIT_S))

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
            plugin = self._plugin(resource)
            again = reusable.setdefault(resource, set())
            ids = sorted(again)[:count]
            if len(ids) < count:
                ids = await self._choose(resource, ids, count, plugin)
            reusable[resource] = again | set(ids) if container.init else again - set(ids)
            request = pb.AllocateRequest()
            request.container_requests.add(devices_ids=ids)
            answer = await _answered(plugin.stub.Allocate(request, timeout=LIMIT_S))
            self._held[pod, container.name, resource] = tuple(ids)
            given |= answer.container_responses[0].envs
        return given

    async def _choose(
        self, resource: str, first: list[str], count: int, plugin: _Plugin
    ) -> list[str]:
        """As many devices as that, ``first`` among them."""
        held = {each for (_, _, of), ids in self._held.items() if of == resource for each in ids}
        free = sorted(self._resources[resource].healthy - held, reverse=True)
        needed = count - len(first)
        if len(free) < needed:
            raise PodRefusedError(
                f"requested number of devices unavailable for {resource}. Requested: {needed}, "
                f"Available: {len(free)}"
            )
        if not plugin.options.get_preferred_allocation_available:
            return [*first, *free[:needed]]
        request = pb.PreferredAllocationRequest()
        request.container_requests.add(
            available_deviceIDs=[*first, *free],
            must_include_deviceIDs=first,
            allocation_size=count,
        )
        answer = await _answered(plugin.stub.GetPreferredAllocation(request, timeout=LIMIT_S))
        wanted = set(answer.container_responses[0].deviceIDs)
        return [*first, *sorted(free, key=lambda each: each not in wanted)[:needed]]

    def _plugin(self, resource: str) -> _Plugin:
        known = self._resources.get(resource)
        if known is None or not known.plugins:
            raise PodRefusedError(f"cannot allocate unregistered device {resource}")
        return known.plugins[next(reversed(known.plugins))]

    # Plugins

    async def Register(  # noqa: N802 - the contract's
        self, request: pb.RegisterRequest, context: Context
    ) -> pb.Empty:
        """Connect to the plugin, and take it if it answers."""
        resource = self._resources.setdefault(request.resource_name, _Resource())
        if request.version != VERSION:
            await context.abort(grpc.StatusCode.UNKNOWN, f"version {request.version!r}")
        if request.endpoint in resource.plugins:
            await context.abort(grpc.StatusCode.UNKNOWN, "device plugin already connected")
        channel = grpc.aio.insecure_channel(
            f"unix:{self.folder / request.endpoint}",
            options=(
                ("grpc.default_authority", "localhost"),
                ("grpc.use_local_subchannel_pool", 1),
                ("grpc.max_receive_message_length", MOST_RECEIVED_BYTES),
            ),
        )
        stub = pb_grpc.DevicePluginStub(channel)
        try:
            options = await stub.GetDevicePluginOptions(pb.Empty(), timeout=LIMIT_S)
        except grpc.aio.AioRpcError as error:
            await channel.close(None)
            await context.abort(grpc.StatusCode.UNKNOWN, str(error.details()))
        plugin = _Plugin(channel, stub, options)
        resource.plugins[request.endpoint] = plugin
        plugin.watching = asyncio.create_task(self._watch(resource, request.endpoint, plugin))
        return pb.Empty()

    async def _watch(self, resource: _Resource, name: str, plugin: _Plugin) -> None:
        """Follow the list; a plugin whose stream ends is dropped."""
        try:
            async for answer in plugin.stub.ListAndWatch(pb.Empty()):
                healthy = {each.ID for each in answer.devices if each.health == "Healthy"}
                resource.healthy = healthy
                resource.unhealthy = {each.ID for each in answer.devices} - healthy
                resource.lists += 1
        except grpc.aio.AioRpcError:
            pass
        plugin.watching = None
        await self._drop(resource, name)

    async def _drop(self, resource: _Resource, name: str) -> None:
        plugin = resource.plugins.pop(name)
        if plugin.watching is not None:
            plugin.watching.cancel()
            await asyncio.wait({plugin.watching})
        await plugin.channel.close(None)
        if not resource.plugins:
            resource.unhealthy |= resource.healthy
            resource.healthy = set()

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


async def _answered(call: Any) -> Any:
    """A plugin's answer. Raises PodRefusedError."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise PodRefusedError(
            f"rpc error: code = {error.code().name} desc = {error.details()}"
        ) from error
    except asyncio.CancelledError:
        asking = asyncio.current_task()
        if asking is not None and asking.cancelling():
            raise
        # The plugin's stream has ended meanwhile, and its connection was given up over this call.
        raise PodRefusedError("rpc error: code = CANCELED desc = the plugin is gone") from None
