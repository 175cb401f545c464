"""The controller's service against real gRPC agents on loopback addresses of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from controller.cache.cluster import NODES, PODS, ClusterCache
from controller.cache.records import NodeRecord, Owner, PodRecord
from controller.channels import NodeChannels, agent_target
from controller.service import ClusterGpuPods
from gpupods.addresses import HostPort
from gpupods.identity import ContainerId, NodeName, PodUid
from gpupods.serving import GrpcServer
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc

SERVICE = "gpupods.v1alpha1.GpuPodsService"
WEB, DB, SIDECAR = (ContainerId(letter * 64) for letter in "abc")
GPU_1 = NodeName("gpu-1")

Behaviour = Callable[[pb.GetGpuPodsRequest, Any], Awaitable[pb.GetGpuPodsResponse]]


class Agent(pb_grpc.GpuPodsServiceServicer):
    """Stands for a node agent: answers as it is told to, and remembers what it was asked."""

    def __init__(self, behave: Behaviour) -> None:
        self.behave = behave
        self.asked: list[pb.GetGpuPodsRequest] = []

    async def GetGpuPods(  # noqa: N802
        self, request: pb.GetGpuPodsRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.GetGpuPodsResponse:
        self.asked.append(request)
        return await self.behave(request, context)


@asynccontextmanager
async def serving(
    servicer: pb_grpc.GpuPodsServiceServicer, at: HostPort | None = None
) -> AsyncIterator[HostPort]:
    server = GrpcServer([SERVICE])
    pb_grpc.add_GpuPodsServiceServicer_to_server(servicer, server.registry)
    listening = await server.start(at or HostPort("127.0.0.1", 0))
    try:
        yield listening
    finally:
        await server.stop(0)


def cluster(*addresses: str) -> ClusterCache:
    cache = ClusterCache()
    cache.put_node(NodeRecord(GPU_1, "n1", addresses))
    owner = Owner("Deployment", "web")
    containers = ((WEB, "main"), (SIDECAR, "proxy"))
    cache.put_pod(PodRecord(PodUid("u1"), "shop", "web-0", GPU_1, "Running", containers, owner))
    cache.put_pod(PodRecord(PodUid("u2"), "data", "db-0", GPU_1, "Running", ((DB, "db"),)))
    cache.report_listed(PODS)
    cache.report_listed(NODES)
    return cache


@asynccontextmanager
async def controller(
    cache: ClusterCache, port: int, staleness: str = ""
) -> AsyncIterator[tuple[Any, NodeChannels]]:
    channels = NodeChannels(cache, port)
    service = ClusterGpuPods(
        cache=cache, channels=channels, staleness=lambda: staleness, request_limit_s=5.0
    )
    async with serving(service) as at, grpc.aio.insecure_channel(str(at)) as channel:
        yield pb_grpc.GpuPodsServiceStub(channel), channels
        await channels.close()


async def two_rows(_request: pb.GetGpuPodsRequest, _context: object) -> pb.GetGpuPodsResponse:
    answer = pb.GetGpuPodsResponse()
    answer.GpuInfos["GPU-1"].uuid = "GPU-1"
    answer.GpuInfos["GPU-2"].uuid = "GPU-2"
    answer.GpuPods["GPU-1"].pidPods.add(pid=1, pod="web-0", container_id=SIDECAR)
    answer.GpuPods["GPU-1"].pidPods.add(pid=2, pod="db-0", container_id=DB)
    answer.GpuPods["GPU-2"].pidPods.add(pid=2, pod="db-0", container_id=DB)
    answer.unattributed["GPU-2"].processes.add(reason=pb.UNATTRIBUTED_REASON_HOST_PROCESS)
    return answer


async def failure(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), caught.value.details() or ""


async def test_the_agent_gets_the_map_and_the_rows_are_enriched() -> None:
    agent = Agent(two_rows)
    async with (
        serving(agent) as at,
        controller(cluster("127.0.0.1"), at.port) as (stub, _),
    ):
        answer = await stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id="web-0", max_age_ms=7))
    (asked,) = agent.asked
    assert json.loads(asked.worker_id) == {WEB: "web-0", SIDECAR: "web-0", DB: "db-0"}
    assert asked.max_age_ms == 7
    web, db = answer.GpuPods["GPU-1"].pidPods
    assert (web.namespace, web.pod_uid, web.container_name) == ("shop", "u1", "proxy")
    assert (web.owner.kind, web.owner.name) == ("Deployment", "web")
    assert (db.namespace, db.pod_uid, db.HasField("owner")) == ("data", "u2", False)
    assert answer.node_name == "gpu-1"
    assert not answer.missing


async def test_only_this_pod_leaves_the_gpus_and_takes_the_other_rows() -> None:
    async with (
        serving(Agent(two_rows)) as at,
        controller(cluster("127.0.0.1"), at.port) as (stub, _),
    ):
        request = pb.GetGpuPodsRequest(worker_id="shop/web-0", only_this_pod=True)
        answer = await stub.GetGpuPods(request)
    assert {gpu: [row.pod for row in pods.pidPods] for gpu, pods in answer.GpuPods.items()} == {
        "GPU-1": ["web-0"]
    }
    assert set(answer.GpuInfos) == {"GPU-1", "GPU-2"}
    assert not answer.unattributed


async def test_a_pod_that_left_meanwhile_is_told_as_missing() -> None:
    cache = cluster("127.0.0.1")

    async def lose_db(request: pb.GetGpuPodsRequest, context: object) -> pb.GetGpuPodsResponse:
        cache.remove_pod(PodUid("u2"))
        return await two_rows(request, context)

    async with serving(Agent(lose_db)) as at, controller(cache, at.port) as (stub, _):
        answer = await stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id="web-0"))
    (part,) = answer.missing
    assert (part.kind, part.subject) == (pb.MISSING_KIND_POD, DB)
    assert "'db-0' left the cluster" in part.reason


async def test_a_stale_cache_says_so() -> None:
    async with (
        serving(Agent(two_rows)) as at,
        controller(cluster("127.0.0.1"), at.port, "as of 40 s ago") as (stub, _),
    ):
        answer = await stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id="web-0"))
    assert [part.reason for part in answer.missing] == ["as of 40 s ago"]


async def test_an_agent_that_is_away() -> None:
    async with serving(Agent(two_rows)) as at:
        pass
    async with controller(cluster("127.0.0.1"), at.port) as (stub, _):
        code, details = await failure(stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id="web-0")))
    assert code is grpc.StatusCode.UNAVAILABLE
    assert f"the agent of node 'gpu-1' (of pod shop/web-0) at 127.0.0.1:{at.port}" in details


async def test_an_agent_that_comes_back_is_asked_again() -> None:
    async with serving(Agent(two_rows)) as at:
        pass
    async with controller(cluster("127.0.0.1"), at.port) as (stub, _):
        request = pb.GetGpuPodsRequest(worker_id="web-0")
        await failure(stub.GetGpuPods(request))
        async with serving(Agent(two_rows), at), asyncio.timeout(30):
            while True:
                try:
                    answer = await stub.GetGpuPods(request)
                except grpc.aio.AioRpcError as error:
                    assert error.code() is grpc.StatusCode.UNAVAILABLE  # noqa: PT017
                    await asyncio.sleep(0.05)
                else:
                    break
    assert set(answer.GpuInfos) == {"GPU-1", "GPU-2"}


async def test_an_agent_that_hangs_costs_the_callers_deadline_less_a_margin() -> None:
    let_go = asyncio.Event()
    told: list[float] = []

    async def hang(_: pb.GetGpuPodsRequest, context: Any) -> pb.GetGpuPodsResponse:
        told.append(context.time_remaining())
        await let_go.wait()
        return pb.GetGpuPodsResponse()

    async with (
        serving(Agent(hang)) as at,
        controller(cluster("127.0.0.1"), at.port) as (stub, _),
    ):
        call = stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id="web-0"), timeout=1.0)
        code, details = await failure(call)
        let_go.set()
    assert code is grpc.StatusCode.DEADLINE_EXCEEDED
    assert "the agent of node 'gpu-1'" in details  # the controller's own words, so it had time
    assert told[0] < 0.96


async def test_a_caller_that_goes_away_ends_the_agents_call_too() -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def hang(_: pb.GetGpuPodsRequest, context: Any) -> pb.GetGpuPodsResponse:
        context.add_done_callback(lambda _: ended.set())
        asked.set()
        await asyncio.Event().wait()
        return pb.GetGpuPodsResponse()

    async with (
        serving(Agent(hang)) as at,
        controller(cluster("127.0.0.1"), at.port) as (stub, _),
    ):
        call = stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id="web-0"))
        await asyncio.wait_for(asked.wait(), 10)
        call.cancel()
        await asyncio.wait_for(ended.wait(), 10)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL),
        (grpc.StatusCode.INTERNAL, grpc.StatusCode.INTERNAL),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.RESOURCE_EXHAUSTED),
    ],
)
async def test_an_agents_error_names_the_node(
    code: grpc.StatusCode, expected: grpc.StatusCode
) -> None:
    async def fail(_: pb.GetGpuPodsRequest, context: Any) -> pb.GetGpuPodsResponse:
        await context.abort(code, "because")
        return pb.GetGpuPodsResponse()

    async with (
        serving(Agent(fail)) as at,
        controller(cluster("127.0.0.1"), at.port) as (stub, _),
    ):
        found, details = await failure(stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id="web-0")))
    assert found is expected
    assert "node 'gpu-1'" in details
    assert "because" in details


async def test_dual_stack_the_second_address_is_tried() -> None:
    async with (
        serving(Agent(two_rows), HostPort("127.0.0.3", 0)) as at,
        controller(cluster("127.0.0.2", "127.0.0.3"), at.port) as (stub, _),
    ):
        answer = await stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id="web-0"))
    assert set(answer.GpuInfos) == {"GPU-1", "GPU-2"}


async def test_ipv6() -> None:
    async with (
        serving(Agent(two_rows), HostPort("::1", 0)) as at,
        controller(cluster("::1"), at.port) as (stub, _),
    ):
        answer = await stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id="web-0"))
    assert set(answer.GpuInfos) == {"GPU-1", "GPU-2"}


async def test_an_answer_and_a_map_beyond_4_mib_pass() -> None:
    async def much(_: pb.GetGpuPodsRequest, __: object) -> pb.GetGpuPodsResponse:
        answer = pb.GetGpuPodsResponse()
        answer.GpuInfos["GPU-1"].gpuName = "x" * 6_000_000
        return answer

    cache = cluster("127.0.0.1")
    ids = tuple((ContainerId(f"{number:064x}"), "main") for number in range(70_000))
    cache.put_pod(PodRecord(PodUid("u9"), "big", "big-0", GPU_1, "Running", ids))
    agent = Agent(much)
    async with serving(agent) as at, controller(cache, at.port) as (_, __):
        channels = NodeChannels(cache, at.port)
        service = ClusterGpuPods(
            cache=cache, channels=channels, staleness=lambda: "", request_limit_s=30.0
        )
        options = (("grpc.max_receive_message_length", -1),)
        async with (
            serving(service) as front,
            grpc.aio.insecure_channel(str(front), options=options) as channel,
        ):
            stub: Any = pb_grpc.GpuPodsServiceStub(channel)
            answer = await stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id="web-0"))
        await channels.close()
    assert len(agent.asked[0].worker_id) > 4 * 1024 * 1024
    assert len(answer.GpuInfos["GPU-1"].gpuName) == 6_000_000


async def test_channels_go_with_the_node_and_its_address() -> None:
    cache = cluster("127.0.0.1")
    async with (
        serving(Agent(two_rows)) as at,
        serving(Agent(two_rows), HostPort("127.0.0.2", at.port)),
        controller(cache, at.port) as (stub, channels),
    ):
        request = pb.GetGpuPodsRequest(worker_id="web-0")
        await stub.GetGpuPods(request)
        assert channels.count() == 1
        cache.put_node(NodeRecord(GPU_1, "n1", ("127.0.0.2",)))
        assert channels.count() == 0
        await stub.GetGpuPods(request)
        assert channels.count() == 1
        cache.remove_node("n1")
        assert channels.count() == 0
        code, _ = await failure(stub.GetGpuPods(request))
        assert code is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("10.0.0.1", "ipv4:10.0.0.1:50051"),
        ("fd00::1", "ipv6:[fd00::1]:50051"),
        ("gpu-1.example", "gpu-1.example:50051"),
    ],
)
def test_targets(address: str, target: str) -> None:
    assert agent_target(address, 50051) == target
