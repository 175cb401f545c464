"""What every server of ours has: health, reflection, clear refusals, an honest port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from gpupods.addresses import HostPort
from gpupods.errors import not_found
from gpupods.serving import GrpcServer, answer
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc

SERVICE = "gpupods.v1alpha1.GpuPodsService"
METHOD = f"/{SERVICE}/GetGpuPods"


class Failing(pb_grpc.GpuPodsServiceServicer):
    async def GetGpuPods(  # noqa: N802
        self, request: pb.GetGpuPodsRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.GetGpuPodsResponse:
        return await answer(context, self._fail(request.worker_id))

    async def _fail(self, worker_id: str) -> pb.GetGpuPodsResponse:
        if worker_id == "bug":
            raise ZeroDivisionError
        raise not_found(f"no {worker_id}")


@asynccontextmanager
async def served() -> AsyncIterator[tuple[GrpcServer, HostPort]]:
    server = GrpcServer([SERVICE])
    pb_grpc.add_GpuPodsServiceServicer_to_server(Failing(), server.registry)
    listening = await server.start(HostPort("127.0.0.1", 0))
    try:
        yield server, listening
    finally:
        await server.stop(0)


async def failure(channel: grpc.aio.Channel, request: bytes) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await channel.unary_unary(METHOD, bytes, bytes)(request)
    return caught.value.code(), caught.value.details() or ""


async def test_a_status_error_is_the_calls_status() -> None:
    async with served() as (_, at), grpc.aio.insecure_channel(str(at)) as channel:
        request = pb.GetGpuPodsRequest(worker_id="pod").SerializeToString()
        assert await failure(channel, request) == (grpc.StatusCode.NOT_FOUND, "no pod")


async def test_a_bug_is_internal_and_tells_no_secrets() -> None:
    async with served() as (_, at), grpc.aio.insecure_channel(str(at)) as channel:
        request = pb.GetGpuPodsRequest(worker_id="bug").SerializeToString()
        code, details = await failure(channel, request)
        assert code is grpc.StatusCode.INTERNAL
        assert details == "ZeroDivisionError while answering; the server's log has the details"


@pytest.mark.parametrize("request_bytes", [b"\x0a\x02\xff\xfe", b"\x0a\x7f", b"\xff" * 100])
async def test_undecodable_requests_are_refused_clearly(request_bytes: bytes) -> None:
    async with served() as (_, at), grpc.aio.insecure_channel(str(at)) as channel:
        code, details = await failure(channel, request_bytes)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert f"({len(request_bytes)} bytes) is not a valid message" in details


async def test_a_request_beyond_4_mib_arrives() -> None:
    async with served() as (_, at), grpc.aio.insecure_channel(str(at)) as channel:
        request = pb.GetGpuPodsRequest(worker_id="x" * 5_000_000).SerializeToString()
        code, _ = await failure(channel, request)
        assert code in {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.RESOURCE_EXHAUSTED}


async def test_health_follows_what_is_set() -> None:
    status = health_pb2.HealthCheckResponse
    async with served() as (server, at), grpc.aio.insecure_channel(str(at)) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for name in ("", SERVICE):
            asked = health_pb2.HealthCheckRequest(service=name)
            assert (await health.Check(asked)).status == status.NOT_SERVING
            await server.set_serving(serving=True)
            assert (await health.Check(asked)).status == status.SERVING
            await server.set_serving(serving=False)


async def test_two_servers_cannot_share_a_port() -> None:
    async with served() as (_, at):
        with pytest.raises(OSError, match="cannot listen on"):
            await GrpcServer([SERVICE]).start(at)


async def test_an_address_that_cannot_be_had_is_told_without_a_word_of_grpcs_own(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with served() as (_, at):
        for wrong, why in ((at, "in use"), (HostPort("192.0.2.1", 0), "Cannot assign")):
            with pytest.raises(OSError, match=why) as raised:
                await GrpcServer([SERVICE]).start(wrong)
            assert str(raised.value).startswith(f"cannot listen on {wrong}: ")
    assert capfd.readouterr().err == ""


async def test_reflection_lists_the_services() -> None:
    async with served() as (_, at):
        with grpc.insecure_channel(str(at)) as channel:
            names = await asyncio.to_thread(
                lambda: ProtoReflectionDescriptorDatabase(channel).get_services()
            )
    assert {SERVICE, "grpc.health.v1.Health"} <= set(names)
