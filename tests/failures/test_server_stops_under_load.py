"""A server stops while calls arrive: who is there is answered, others are told to come again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from controller.ask import ask_agent
from controller.cache.cluster import ClusterCache
from controller.cache.records import NodeRecord, PodRecord
from controller.channels import NodeChannels
from controller.resolve import ResolvedPod
from gpupods import AsyncClient, Client, Unreachable
from gpupods.addresses import HostPort
from gpupods.errors import StatusError
from gpupods.identity import NodeName, PodUid
from gpupods.serving import GrpcServer
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from tests.containerdservices import until
from tests.unit.gpupods.answers import busy_node

SERVICE = "gpupods.v1alpha1.GpuPodsService"
AT_ONCE = 100
NEVER = 1_000_000
AMPLE_S = 30.0


class Slow(pb_grpc.GpuPodsServiceServicer):
    """Answers no call before ``answers`` is set."""

    def __init__(self) -> None:
        self.calls = 0
        self.begun = asyncio.Event()
        self.answers = asyncio.Event()

    async def GetGpuPods(  # noqa: N802
        self, request: pb.GetGpuPodsRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.GetGpuPodsResponse:
        self.calls += 1
        self.begun.set()
        await self.answers.wait()
        return pb.GetGpuPodsResponse(node_name=request.worker_id)


class Stopping(pb_grpc.GpuPodsServiceServicer):
    """Ends each call, but one in ``of``, as gRPC does when a server stops."""

    def __init__(self, of: int) -> None:
        self.of = of
        self.asked = 0

    def GetGpuPods(  # noqa: N802
        self, _: pb.GetGpuPodsRequest, context: grpc.ServicerContext
    ) -> pb.GetGpuPodsResponse:
        self.asked += 1
        if self.asked % self.of:
            context.abort(grpc.StatusCode.CANCELLED, "CANCELLED")
        return busy_node()


@contextmanager
def serving(servicer: Stopping) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(1))
    pb_grpc.add_GpuPodsServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


async def test_calls_that_have_arrived_are_answered() -> None:
    server = GrpcServer([SERVICE])
    slow = Slow()
    pb_grpc.add_GpuPodsServiceServicer_to_server(slow, server.registry)
    at = await server.start(HostPort("127.0.0.1", 0))
    async with grpc.aio.insecure_channel(str(at)) as channel:
        stub: Any = pb_grpc.GpuPodsServiceStub(channel)
        calls = [
            asyncio.ensure_future(stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id=str(number))))
            for number in range(AT_ONCE)
        ]
        await slow.begun.wait()
        stopping = asyncio.create_task(server.stop(AMPLE_S))
        await until(lambda: slow.calls == AT_ONCE or any(call.done() for call in calls))
        slow.answers.set()
        answers = await asyncio.gather(*calls)
        await stopping
    assert {answer.node_name for answer in answers} == {str(number) for number in range(AT_ONCE)}


async def test_who_asks_on_and_on_is_refused_and_does_not_hold_up_the_stop() -> None:
    server = GrpcServer([SERVICE])
    slow = Slow()
    slow.answers.set()
    pb_grpc.add_GpuPodsServiceServicer_to_server(slow, server.registry)
    at = await server.start(HostPort("127.0.0.1", 0))

    async def ask_for_ever() -> None:
        async with grpc.aio.insecure_channel(str(at)) as channel:
            stub: Any = pb_grpc.GpuPodsServiceStub(channel)
            while True:
                await stub.GetGpuPods(pb.GetGpuPodsRequest())

    callers = [asyncio.create_task(ask_for_ever()) for _ in range(4)]
    await slow.begun.wait()
    async with asyncio.timeout(AMPLE_S):
        await server.stop(AMPLE_S * 2)
    for outcome in await asyncio.gather(*callers, return_exceptions=True):
        assert isinstance(outcome, grpc.aio.AioRpcError)
        assert outcome.code() is grpc.StatusCode.UNAVAILABLE
        assert outcome.details() == "this server is stopping; try again in a moment"


async def test_the_controller_tells_of_an_agent_that_stops() -> None:
    pod = PodRecord(PodUid("u"), "shop", "web-0", NodeName("gpu-1"), "Running")
    where = ResolvedPod(pod, pod.node, ("127.0.0.1",))
    with serving(Stopping(NEVER)) as at:
        cache = ClusterCache()
        cache.put_node(NodeRecord(pod.node, "n1", where.addresses))
        channels = NodeChannels(cache, int(at.rpartition(":")[2]))
        with pytest.raises(StatusError) as caught:
            await ask_agent(channels, where, pb.GetGpuPodsRequest(), AMPLE_S)
        await channels.close()
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    assert f"at {at} stopped before it answered" in caught.value.message


async def test_the_clients_ask_again() -> None:
    server = Stopping(2)
    with serving(server) as at:
        with Client(at) as client:
            assert client.get_gpu_pods("train-0").node == "gpu-node-1"
        async with AsyncClient(at) as waiting_client:
            assert (await waiting_client.get_gpu_pods("train-0")).node == "gpu-node-1"
    assert server.asked == 4


def test_a_client_that_has_asked_in_vain_says_so() -> None:
    with (
        serving(Stopping(NEVER)) as at,
        Client(at) as client,
        pytest.raises(Unreachable) as caught,
    ):
        client.get_gpu_pods("train-0")
    assert caught.value.message == f"{at} stopped before it answered; try again"
