"""The controller is sent a pod id of megabytes: refused, at no cost to the next caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import grpc
import pytest

from controller.controller import Controller, ControllerAddresses
from controller.settings import ControllerSettings
from gpupods.addresses import HostPort
from gpupods.kube.access import KubeAccess
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc

ANY_PORT = HostPort("127.0.0.1", 0)
MIB = 1024 * 1024
LIMIT_S = 60.0


@pytest.fixture
async def at() -> AsyncIterator[ControllerAddresses]:
    settings = ControllerSettings(grpc_listen=ANY_PORT, http_listen=ANY_PORT, stop_grace=0.1)
    controller = Controller(settings, KubeAccess.without_credentials("http://127.0.0.1:1"))
    yield await controller.start()
    await controller.stop()


async def ask(stub: Any, worker_id: str) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id=worker_id), timeout=LIMIT_S)
    assert len(caught.value.details() or "") < 1_000
    return caught.value.code()


async def test_by_grpc(at: ControllerAddresses) -> None:
    async with grpc.aio.insecure_channel(str(at.grpc)) as channel:
        stub: Any = pb_grpc.GpuPodsServiceStub(channel)
        assert await ask(stub, "x" * MIB) is grpc.StatusCode.INVALID_ARGUMENT
        assert await ask(stub, "x" * (5 * MIB)) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await ask(stub, "") is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(("mib", "status"), [(1, 400), (5, 429), (11, 400)])
async def test_by_http(at: ControllerAddresses, mib: int, status: int) -> None:
    url = f"http://{at.http}"
    form = {"worker_id": "x" * (mib * MIB)}
    async with aiohttp.ClientSession() as session, asyncio.timeout(LIMIT_S):
        async with session.post(f"{url}/gpu-pods", data=form) as response:
            assert response.status == status
            assert len(await response.text()) < 1_000
        async with session.get(f"{url}/healthz") as response:
            assert response.status == 200
