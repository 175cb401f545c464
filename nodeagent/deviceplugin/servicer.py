"""`v1beta1.DevicePlugin` for one resource: the kubelet's calls, and nothing decided."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc

from gpupods.serving import answer
from nodeagent.deviceplugin.allocator import Allocator
from nodeagent.deviceplugin.sockets import OPTIONS
from nodeagent.kubelet_api import deviceplugin_pb2 as pb
from nodeagent.kubelet_api import deviceplugin_pb2_grpc as pb_grpc

Context = grpc.aio.ServicerContext[Any, Any]


class DeviceList:
    """The list of one resource as the kubelet is sent it; who watches is woken at each change."""

    def __init__(self) -> None:
        self._encoded: bytes | None = None
        self._changed = asyncio.Event()
        self.watched = 0
        """How many streams there are."""

    @property
    def encoded(self) -> bytes | None:
        """None: there is nothing to tell yet."""
        return self._encoded

    def put(self, encoded: bytes) -> None:
        """Tell another list from now on."""
        self._encoded = encoded
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self) -> AsyncIterator[bytes]:
        """The list, and each later one; of several at a moment the last."""
        self.watched += 1
        try:
            told: bytes | None = None
            while True:
                changed = self._changed
                if self._encoded is not None and self._encoded is not told:
                    told = self._encoded
                    yield told
                else:
                    await changed.wait()
        finally:
            self.watched -= 1


class DevicePluginServicer(pb_grpc.DevicePluginServicer):
    """The calls of the kubelet for ``resource``."""

    def __init__(self, resource: str, devices: DeviceList, allocator: Allocator) -> None:
        self._resource = resource
        self._devices = devices
        self._allocator = allocator

    async def GetDevicePluginOptions(  # noqa: N802 - the contract's
        self, request: pb.Empty, context: Context
    ) -> pb.DevicePluginOptions:
        """Before anything else is asked."""
        del request, context
        return OPTIONS

    async def ListAndWatch(  # noqa: N802
        self, request: pb.Empty, context: Context
    ) -> AsyncIterator[pb.ListAndWatchResponse]:
        """For as long as the kubelet runs."""
        del request, context
        async for encoded in self._devices.follow():
            yield pb.ListAndWatchResponse.FromString(encoded)

    async def GetPreferredAllocation(  # noqa: N802
        self, request: pb.PreferredAllocationRequest, context: Context
    ) -> pb.PreferredAllocationResponse:
        """Right before Allocate, for the same container."""

        async def prefer() -> pb.PreferredAllocationResponse:
            response = pb.PreferredAllocationResponse()
            for each in request.container_requests:
                chosen = await self._allocator.prefer(
                    self._resource,
                    each.available_deviceIDs,
                    each.must_include_deviceIDs,
                    each.allocation_size,
                )
                response.container_responses.add(deviceIDs=chosen)
            return response

        return await answer(context, prefer())

    async def Allocate(  # noqa: N802
        self, request: pb.AllocateRequest, context: Context
    ) -> pb.AllocateResponse:
        """For one container; the kubelet puts what it is answered into that container alone."""

        async def allocate() -> pb.AllocateResponse:
            response = pb.AllocateResponse()
            for each in request.container_requests:
                ids = frozenset(each.devices_ids)
                given = await self._allocator.allocate(self._resource, ids)
                response.container_responses.add(envs=given)
            return response

        return await answer(context, allocate())

    async def PreStartContainer(  # noqa: N802
        self, request: pb.PreStartContainerRequest, context: Context
    ) -> pb.PreStartContainerResponse:
        """Before each start of a container that has devices."""

        async def check() -> pb.PreStartContainerResponse:
            await self._allocator.check(self._resource, frozenset(request.devices_ids))
            return pb.PreStartContainerResponse()

        return await answer(context, check())
