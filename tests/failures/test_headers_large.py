"""Headers of a size that proxies and single sign-on do produce go through HTTP and gRPC alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import grpc
import pytest

from controller.http.server import HttpServer
from gpupods.addresses import HostPort
from gpupods.serving import GrpcServer
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc

SERVICE = pb.DESCRIPTOR.services_by_name["GpuPodsService"]
ANY_PORT = HostPort("127.0.0.1", 0)
LIMIT_S = 30.0


class Echo(pb_grpc.GpuPodsServiceServicer):
    """Answers with the length of the metadata it was sent under the key that was asked for."""

    async def GetGpuPods(  # noqa: N802
        self, request: pb.GetGpuPodsRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.GetGpuPodsResponse:
        metadata: dict[str, Any] = dict(context.invocation_metadata() or ())
        return pb.GetGpuPodsResponse(node_name=str(len(metadata[request.worker_id])))


@pytest.fixture
async def at() -> AsyncIterator[tuple[HostPort, HostPort]]:
    """Where gRPC and HTTP are."""
    server = GrpcServer([SERVICE.full_name])
    pb_grpc.add_GpuPodsServiceServicer_to_server(Echo(), server.registry)
    grpc_at = await server.start(ANY_PORT)
    async with grpc.aio.insecure_channel(str(grpc_at)) as channel:
        http = HttpServer([SERVICE], channel, LIMIT_S)
        yield grpc_at, await http.start(ANY_PORT)
        await http.stop(0)
    await server.stop(0)


@pytest.mark.parametrize("length", [9_000, 20_000, 900_000])
async def test_by_http(at: tuple[HostPort, HostPort], length: int) -> None:
    url = f"http://{at[1]}/gpu-pods?worker_id=grpcgateway-cookie"
    headers = {"Cookie": "a" * length, "Authorization": "b" * 20_000}
    async with (
        aiohttp.ClientSession() as session,
        asyncio.timeout(LIMIT_S),
        session.get(url, headers=headers) as response,
    ):
        assert (response.status, (await response.json())["nodeName"]) == (200, str(length))


@pytest.mark.parametrize("length", [9_000, 20_000, 900_000])
async def test_by_grpc(at: tuple[HostPort, HostPort], length: int) -> None:
    async with grpc.aio.insecure_channel(str(at[0])) as channel:
        stub: Any = pb_grpc.GpuPodsServiceStub(channel)
        answer = await stub.GetGpuPods(
            pb.GetGpuPodsRequest(worker_id="authorization"),
            metadata=(("authorization", "b" * length),),
            timeout=LIMIT_S,
        )
    assert answer.node_name == str(length)
