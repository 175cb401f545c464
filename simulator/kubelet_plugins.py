"""The device plugins that a simulated kubelet knows: their registration, their lists, their end.

It does what the kubelet's device manager does, as far as a plugin can tell: a connection for each
socket, a stream for each plugin with its limit of a message. Which pod has which device is
`simulator.kubelet`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from nodeagent.kubelet_api import deviceplugin_pb2 as pb
from nodeagent.kubelet_api import deviceplugin_pb2_grpc as pb_grpc

VERSION = "v1beta1"
MOST_RECEIVED_BYTES = 4 * 1024 * 1024
LIMIT_S = 30.0

Context = grpc.aio.ServicerContext[Any, Any]


class PodRefusedError(Exception):
    """The pod is not let in, or a container of it does not start. The message is the plugin's."""


@dataclass(slots=True)
class Plugin:
    """A plugin that is connected."""

    channel: grpc.aio.Channel
    stub: Any
    options: pb.DevicePluginOptions
    watching: asyncio.Task[None] | None = None

    async def allocate(self, ids: list[str]) -> dict[str, str]:
        """What a container with these devices is given. Raises PodRefusedError."""
        request = pb.AllocateRequest()
        request.container_requests.add(devices_ids=ids)
        answer = await _answered(self.stub.Allocate(request, timeout=LIMIT_S))
        return dict(answer.container_responses[0].envs)

    async def prefer(self, first: list[str], free: list[str], count: int) -> set[str]:
        """Which of the ``free`` ones it would have beside ``first``. Raises PodRefusedError."""
        request = pb.PreferredAllocationRequest()
        request.container_requests.add(
            available_deviceIDs=[*first, *free],
            must_include_deviceIDs=first,
            allocation_size=count,
        )
        answer = await _answered(self.stub.GetPreferredAllocation(request, timeout=LIMIT_S))
        return set(answer.container_responses[0].deviceIDs)

    async def check(self, ids: tuple[str, ...]) -> None:
        """Before a container with these devices starts. Raises PodRefusedError."""
        if self.options.pre_start_required:
            request = pb.PreStartContainerRequest(devices_ids=ids)
            await _answered(self.stub.PreStartContainer(request, timeout=LIMIT_S))


@dataclass(slots=True)
class Resource:
    """What the kubelet knows of one resource."""

    healthy: set[str] = field(default_factory=set)
    unhealthy: set[str] = field(default_factory=set)
    plugins: dict[str, Plugin] = field(default_factory=dict)
    """By the name of their socket; the last one is asked."""
    lists: int = 0
    """How often a list came."""


class KubeletPlugins(pb_grpc.RegistrationServicer):
    """Those whose sockets are in ``folder``, by their resources."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.resources: dict[str, Resource] = {}

    def of(self, resource: str) -> Plugin:
        """The one to be asked. Raises PodRefusedError: there is none."""
        known = self.resources.get(resource)
        if known is None or not known.plugins:
            raise PodRefusedError(f"cannot allocate unregistered device {resource}")
        return known.plugins[next(reversed(known.plugins))]

    async def drop(self, resource: str) -> None:
        """Give up the plugins of ``resource``, as after a message that was too long."""
        known = self.resources[resource]
        for name in tuple(known.plugins):
            await self._drop(known, name)

    async def forget(self) -> None:
        """Give up all of them; that there were such resources is remembered."""
        for resource in self.resources:
            await self.drop(resource)
        self.resources = {name: Resource() for name in self.resources}

    async def Register(  # noqa: N802 - the contract's
        self, request: pb.RegisterRequest, context: Context
    ) -> pb.Empty:
        """Connect to the plugin, and take it if it answers."""
        resource = self.resources.setdefault(request.resource_name, Resource())
        if request.version != VERSION:
            await context.abort(grpc.StatusCode.UNKNOWN, f"version {request.version!r}")
        if request.endpoint in resource.plugins:
            await context.abort(grpc.StatusCode.UNKNOWN, "device plugin already connected")
        channel = grpc.aio.insecure_channel(
            f"unix:{self._folder / request.endpoint}",
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
        plugin = Plugin(channel, stub, options)
        resource.plugins[request.endpoint] = plugin
        plugin.watching = asyncio.create_task(self._watch(resource, request.endpoint, plugin))
        return pb.Empty()

    async def _watch(self, resource: Resource, name: str, plugin: Plugin) -> None:
        """Follow the list; a plugin whose stream ends is dropped."""
        with contextlib.suppress(grpc.aio.AioRpcError):
            async for answer in plugin.stub.ListAndWatch(pb.Empty()):
                healthy = {each.ID for each in answer.devices if each.health == "Healthy"}
                resource.healthy = healthy
                resource.unhealthy = {each.ID for each in answer.devices} - healthy
                resource.lists += 1
        plugin.watching = None
        await self._drop(resource, name)

    async def _drop(self, resource: Resource, name: str) -> None:
        plugin = resource.plugins.pop(name)
        if plugin.watching is not None:
            plugin.watching.cancel()
            await asyncio.wait({plugin.watching})
        await plugin.channel.close(None)
        if not resource.plugins:
            resource.unhealthy |= resource.healthy
            resource.healthy = set()


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
