"""A node's agent is replaced: who asks meanwhile waits for the new one, for a little while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest

from controller.ask import ask_agent
from controller.cache.cluster import ClusterCache
from controller.cache.records import NodeRecord, PodRecord
from controller.channels import NodeChannels
from controller.resolve import ResolvedPod
from gpupods.errors import StatusError
from gpupods.identity import NodeName, PodUid
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc

NODE = NodeName("gpu-1")
ADDRESS, UNUSED = "127.0.0.2", "127.0.0.3"
POD = PodRecord(PodUid("u"), "shop", "web-0", NODE, "Running")
LIMIT_S = 30.0


class Agent(pb_grpc.GpuPodsServiceServicer):
    """Answers with its own version."""

    def __init__(self, version: str) -> None:
        self._version = version

    async def GetGpuPods(  # noqa: N802 - the contract's name
        self, request: pb.GetGpuPodsRequest, context: object
    ) -> pb.GetGpuPodsResponse:
        return pb.GetGpuPodsResponse(node_name=self._version)


async def start(version: str, port: int = 0) -> tuple[grpc.aio.Server, int]:
    server = grpc.aio.server()
    pb_grpc.add_GpuPodsServiceServicer_to_server(Agent(version), server)
    port = server.add_insecure_port(f"{ADDRESS}:{port}")
    await server.start()
    return server, port


class Cluster:
    """One node with an agent that has answered, and then was stopped."""

    def __init__(self, port: int, *addresses: str) -> None:
        self.cache = ClusterCache()
        self.cache.put_node(NodeRecord(NODE, "n1", addresses))
        self.port = port
        self.channels = NodeChannels(self.cache, port)
        self._where = ResolvedPod(POD, NODE, addresses)

    async def ask(self, limit_s: float = LIMIT_S) -> str:
        request = pb.GetGpuPodsRequest()
        return (await ask_agent(self.channels, self._where, request, limit_s)).node_name


@pytest.fixture(params=[(ADDRESS,), (UNUSED, ADDRESS)], ids=["one address", "two"])
async def stopped(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    old, port = await start("old")
    cluster = Cluster(port, *request.param)
    assert await cluster.ask() == "old"
    await old.stop(None)
    yield cluster
    await cluster.channels.close()


async def test_who_asks_meanwhile_is_answered_by_the_new_one(stopped: Cluster) -> None:
    asking = [asyncio.create_task(stopped.ask()) for _ in range(3)]
    done, _ = await asyncio.wait(asking, timeout=0.3)
    assert not done
    new, _ = await start("new", stopped.port)
    assert await asyncio.gather(*asking) == ["new"] * 3
    await new.stop(None)


async def test_one_that_does_not_come_back_is_waited_for_once(stopped: Cluster) -> None:
    for limit_s in (0.5, LIMIT_S):
        with pytest.raises(StatusError, match="was not reached") as caught:
            await stopped.ask(limit_s)
        assert caught.value.code is grpc.StatusCode.UNAVAILABLE


async def test_a_node_that_leaves_meanwhile_is_forgotten(stopped: Cluster) -> None:
    asking = asyncio.create_task(stopped.ask(1.0))
    done, _ = await asyncio.wait([asking], timeout=0.3)
    assert not done
    stopped.cache.remove_node("n1")
    with pytest.raises(StatusError) as caught:
        await asking
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    assert stopped.channels.answered_lately(NODE) is None
