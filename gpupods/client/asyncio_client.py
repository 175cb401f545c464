"""The client for asyncio: as the blocking one, with calls to await."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

import grpc

from gpupods.client.answer import GpuPodsAnswer
from gpupods.client.blocking_client import DEFAULT_TIMEOUT_S
from gpupods.client.channel import channel_options, channel_target
from gpupods.client.convert import answer_from, checked_timeout, request_for
from gpupods.client.convert_list import list_from, list_request
from gpupods.client.errors import GpuPodsError, error_from
from gpupods.client.gpu_list import GpuList
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from gpupods.v1alpha1 import health_pb2, health_pb2_grpc


class AsyncClient:
    """Asks a controller which pods' processes are on which GPU, on an asyncio loop.

    Made anywhere, used on one loop, whose tasks may share it::

        async with AsyncClient("gpupods-controller.gpupods-system:50050") as client:
            answer = await client.get_gpu_pods("team-a/train-0")

    Args:
        target: HOST:PORT, [IPV6]:PORT or unix:PATH of a controller, or of a node agent.
        credentials: TLS, as grpc.ssl_channel_credentials makes it; None: plain text.

    Raises:
        ValueError: ``target`` is no address.
    """

    def __init__(self, target: str, *, credentials: grpc.ChannelCredentials | None = None) -> None:
        self.target = channel_target(target)
        self._credentials = credentials
        self._channel: grpc.aio.Channel | None = None
        self._closed = False

    async def get_gpu_pods(
        self,
        pod: str,
        *,
        only_this_pod: bool = False,
        max_age_s: float = 0.0,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> GpuPodsAnswer:
        """Every GPU of the node that ``pod`` runs on; see `gpupods.Client.get_gpu_pods`.

        Raises:
            GpuPodsError: no answer; see `gpupods.client.errors` for its kinds.
            ValueError: a number is out of range, or the client has been closed.
        """
        response = await self.get_gpu_pods_message(
            pod, only_this_pod=only_this_pod, max_age_s=max_age_s, timeout_s=timeout_s
        )
        return answer_from(response)

    async def get_gpu_pods_message(
        self,
        pod: str,
        *,
        only_this_pod: bool = False,
        max_age_s: float = 0.0,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> pb.GetGpuPodsResponse:
        """As `get_gpu_pods`, but the contract's own message, for those who pass it on."""
        request = request_for(pod, only_this_pod=only_this_pod, max_age_s=max_age_s)
        limit_s = checked_timeout(timeout_s)
        stub = pb_grpc.GpuPodsServiceStub(self._open_channel())
        try:
            return await stub.GetGpuPods(request, timeout=limit_s)
        except grpc.aio.AioRpcError as error:
            raise self._error(error, timeout_s) from error

    async def list_gpus(
        self,
        nodes: Sequence[str] = (),
        *,
        only_unfit: bool = False,
        max_age_s: float = 0.0,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> GpuList:
        """The GPUs of nodes, or of the whole cluster; see `gpupods.Client.list_gpus`.

        Raises:
            GpuPodsError: no answer; `NodeNotFound` if one of ``nodes`` is not there.
            ValueError: a number is out of range, or the client has been closed.
        """
        response = await self.list_gpus_message(
            nodes, only_unfit=only_unfit, max_age_s=max_age_s, timeout_s=timeout_s
        )
        return list_from(response)

    async def list_gpus_message(
        self,
        nodes: Sequence[str] = (),
        *,
        only_unfit: bool = False,
        max_age_s: float = 0.0,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> health_pb2.ListGpusResponse:
        """As `list_gpus`, but the contract's own message, for those who pass it on."""
        request = list_request(nodes, only_unfit=only_unfit, max_age_s=max_age_s)
        limit_s = checked_timeout(timeout_s)
        stub = health_pb2_grpc.GpuHealthServiceStub(self._open_channel())
        try:
            return await stub.ListGpus(request, timeout=limit_s)
        except grpc.aio.AioRpcError as error:
            raise self._error(error, timeout_s) from error

    def _error(self, error: grpc.aio.AioRpcError, timeout_s: float) -> GpuPodsError:
        return error_from(
            error.code(),
            error.details(),
            error.trailing_metadata(),
            target=self.target,
            timeout_s=timeout_s,
        )

    def _open_channel(self) -> grpc.aio.Channel:
        """The channel; made at the first call, since it belongs to the loop it is made on."""
        if self._closed:
            raise ValueError("this client has been closed")
        if self._channel is None:
            options = channel_options(self.target)
            self._channel = (
                grpc.aio.secure_channel(self.target, self._credentials, options)
                if self._credentials is not None
                else grpc.aio.insecure_channel(self.target, options)
            )
        return self._channel

    async def close(self) -> None:
        """Close the connection; running calls are cut off. Closing twice does nothing."""
        self._closed = True
        if self._channel is not None:
            await self._channel.close(None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
