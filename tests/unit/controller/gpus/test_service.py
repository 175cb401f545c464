"""The cluster's list against real gRPC agents on loopback addresses of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
import pytest

from controller.cache.cluster import NODES, PODS, ClusterCache
from controller.cache.records import NodeRecord, Owner, PodRecord
from controller.channels import NodeChannels
from controller.gpus.asking import NOT_IN_TIME, NodeAsker
from controller.gpus.choosing import choose
from controller.gpus.service import ClusterGpuHealth
from gpupods.addresses import HostPort
from gpupods.errors import REASON_METADATA, StatusError
from gpupods.identity import ContainerId, NodeName, PodUid
from gpupods.serving import GrpcServer
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from gpupods.v1alpha1 import health_pb2, health_pb2_grpc

AGENTS = "gpupods.v1alpha1.GpuPodsService"
SERVICE = "gpupods.v1alpha1.GpuHealthService"
CONTAINER = ContainerId("a" * 64)


class Agent(pb_grpc.GpuPodsServiceServicer):
    """Stands for the agent of every node: which is asked shows in the address."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent = asyncio.Event()
        self.silent.set()

    async def GetGpuPods(  # noqa: N802
        self, request: pb.GetGpuPodsRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.GetGpuPodsResponse:
        self.asked.append(request.worker_id)
        await self.silent.wait()
        response = pb.GetGpuPodsResponse()
        info = pb.GpuInfo(uuid="GPU-x", index=0, health=pb.GPU_HEALTH_UNFIT)
        response.GpuInfos["GPU-x"].CopyFrom(info)
        response.GpuInfos["GPU-y"].CopyFrom(pb.GpuInfo(uuid="GPU-y", index=1))
        row = pb.PidPods(pid=7, pod="web-0", container_id=CONTAINER)
        response.GpuPods["GPU-x"].pidPods.append(row)
        return response


def node(number: int, **more: Any) -> NodeRecord:
    address = f"127.0.0.{number + 1}"
    return NodeRecord(NodeName(f"gpu-{number}"), f"uid-{number}", (address,), has_gpus=True, **more)


def cluster(*nodes: NodeRecord) -> ClusterCache:
    cache = ClusterCache()
    for each in nodes:
        cache.put_node(each)
    owner = Owner("Deployment", "web")
    containers = ((CONTAINER, "main"),)
    on = NodeName("gpu-1")
    cache.put_pod(PodRecord(PodUid("u1"), "shop", "web-0", on, "Running", containers, owner))
    cache.report_listed(PODS)
    cache.report_listed(NODES)
    return cache


@asynccontextmanager
async def serving(
    cache: ClusterCache, agent: Agent, *numbers: int, stale: str = ""
) -> AsyncIterator[Any]:
    """A stub of the controller; the agents of the nodes with these numbers are there."""
    async with AsyncExitStack() as stack:
        port = 0
        for number in numbers:
            server = GrpcServer([AGENTS])
            pb_grpc.add_GpuPodsServiceServicer_to_server(agent, server.registry)
            port = (await server.start(HostPort(f"127.0.0.{number + 1}", port))).port
            stack.push_async_callback(server.stop, 0)
        channels = NodeChannels(cache, port or 1)
        stack.push_async_callback(channels.close)
        service = ClusterGpuHealth(
            cache=cache,
            asker=NodeAsker(cache, channels),
            staleness=lambda: stale,
            request_limit_s=5.0,
        )
        own = GrpcServer([SERVICE])
        health_pb2_grpc.add_GpuHealthServiceServicer_to_server(service, own.registry)
        at = await own.start(HostPort("127.0.0.1", 0))
        stack.push_async_callback(own.stop, 0)
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(str(at)))
        yield health_pb2_grpc.GpuHealthServiceStub(channel)


def listed(response: health_pb2.ListGpusResponse) -> list[tuple[str, int]]:
    return [(gpu.node_name, gpu.info.index) for gpu in response.gpus]


async def ask(stub: Any, **question: Any) -> health_pb2.ListGpusResponse:
    request = health_pb2.ListGpusRequest(**question)
    response: health_pb2.ListGpusResponse = await stub.ListGpus(request, timeout=20)
    return response


async def test_every_gpu_of_every_node_that_has_some() -> None:
    without = NodeRecord(NodeName("cpu-1"), "c", ("127.0.0.9",))
    cache, agent = cluster(node(2), node(1), without), Agent()
    async with serving(cache, agent, 1, 2) as stub:
        response = await ask(stub)
    assert listed(response) == [("gpu-1", 0), ("gpu-1", 1), ("gpu-2", 0), ("gpu-2", 1)]
    assert (response.nodes, response.gpus_known, list(response.missing)) == (2, 4, [])
    pod = response.gpus[0].pods[0]
    assert (pod.namespace, pod.name, pod.uid, pod.owner.name) == ("shop", "web-0", "u1", "web")
    assert sorted(agent.asked) == sorted([cache.container_map(NodeName("gpu-1")), "{}"])


async def test_only_the_unfit() -> None:
    async with serving(cluster(node(1), node(2)), Agent(), 1, 2) as stub:
        response = await ask(stub, only_unfit=True)
    assert listed(response) == [("gpu-1", 0), ("gpu-2", 0)]
    assert (response.nodes, response.gpus_known) == (2, 4)


async def test_a_node_that_fails_is_named_and_hides_no_other() -> None:
    cache = cluster(node(1), node(2, unhealthy_ids="1,3"))
    async with serving(cache, Agent(), 1) as stub:
        response = await ask(stub)
    assert listed(response) == [("gpu-1", 0), ("gpu-1", 1), ("gpu-2", 1), ("gpu-2", 3)]
    assert response.gpus_known == 4
    assert [gpu.source for gpu in response.gpus[2:]] == [health_pb2.GPU_SOURCE_NODE_OBJECT] * 2
    (missing,) = response.missing
    assert (missing.node_name, missing.kind) == ("gpu-2", pb.MISSING_KIND_UNSPECIFIED)
    assert "was not reached" in missing.reason
    assert "names GPU 1, 3 as unfit" in missing.reason


async def test_nodes_that_are_named_are_asked_whatever_is_known_of_them() -> None:
    cpu = without_gpus(node(2))
    agent = Agent()
    async with serving(cluster(node(1), cpu), agent, 1, 2) as stub:
        response = await ask(stub, node_names=["gpu-2"])
    assert listed(response) == [("gpu-2", 0), ("gpu-2", 1)]
    assert len(agent.asked) == 1


def without_gpus(record: NodeRecord) -> NodeRecord:
    return NodeRecord(record.name, record.uid, record.internal_ips)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("gpu-11", "there is gpu-1"), ("elsewhere", "kubectl get nodes lists them")],
)
async def test_a_node_that_is_not_there(name: str, hint: str) -> None:
    async with serving(cluster(node(1), node(2)), Agent(), 1) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(stub, node_names=["gpu-1", name])
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert f"the cluster has no node '{name}'" in str(caught.value.details())
    assert hint in str(caught.value.details())
    trailing: Any = caught.value.trailing_metadata()
    assert dict(trailing)[REASON_METADATA] == "NODE_NOT_FOUND"


async def test_before_the_cluster_is_known() -> None:
    async with serving(ClusterCache(), Agent()) as stub:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(stub)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_node_without_an_address() -> None:
    record = NodeRecord(NodeName("gpu-1"), "u", (), has_gpus=True, unhealthy_ids="0")
    async with serving(cluster(record), Agent()) as stub:
        response = await ask(stub)
    assert listed(response) == [("gpu-1", 0)]
    assert "it has no InternalIP" in response.missing[0].reason


async def test_an_agent_that_is_silent_costs_the_caller_his_deadline_and_no_more() -> None:
    agent = Agent()
    agent.silent.clear()
    async with serving(cluster(node(1), node(2)), agent, 1, 2) as stub:
        request = health_pb2.ListGpusRequest()
        response = await stub.ListGpus(request, timeout=0.5)
        agent.silent.set()
    assert [part.node_name for part in response.missing] == ["gpu-1", "gpu-2"]
    assert all("did not answer within" in part.reason for part in response.missing)


async def test_nodes_with_an_unfit_gpu_come_first_when_the_time_is_short() -> None:
    nodes = [node(number) for number in range(1, 200)]
    unfit = NodeRecord(NodeName("zz"), "zz", ("127.0.0.250",), has_gpus=True, unhealthy_ids="0")
    cache = cluster(*nodes, unfit)
    channels = NodeChannels(cache, 1)
    chosen = choose(cache, ())
    assert chosen[0].name == "zz"
    answers = await NodeAsker(cache, channels).ask_all(chosen, max_age_ms=0, limit_s=0.0)
    assert {answer.problem for answer in answers} == {NOT_IN_TIME}
    await channels.close()


async def test_a_cluster_that_is_not_followed_at_present() -> None:
    async with serving(cluster(node(1)), Agent(), 1, stale="pods as of 20 s ago") as stub:
        response = await ask(stub)
    (missing,) = response.missing
    assert (missing.node_name, missing.kind) == ("", pb.MISSING_KIND_POD)
    assert missing.reason == "pods as of 20 s ago"


def test_thousands_of_names_that_are_none_are_told_in_few_words() -> None:
    """What a status says travels in a header, which has a limit."""
    known = cluster(node(0))
    names = [f"no-such-node-{number}" for number in range(5000)]
    with pytest.raises(StatusError, match="and 4995 more") as caught:
        choose(known, ["x" * 1_000_000, *names[1:]])
    assert len(caught.value.message) < 1000
