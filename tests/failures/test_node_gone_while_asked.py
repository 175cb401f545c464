"""A node leaves the cluster while its agent is asked: no channel is made, and kept, for it."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from controller.ask import ask_agent
from controller.cache.cluster import ClusterCache
from controller.cache.records import NodeRecord, PodRecord
from controller.channels import NodeChannels
from controller.diagnosis.judge import Expectation
from controller.diagnosis.nodes import AgentsDiagnosis
from controller.resolve import ResolvedPod
from gpupods.errors import StatusError
from gpupods.identity import NodeName, PodUid
from gpupods.v1alpha1 import gpupods_pb2 as pb

NODE = NodeName("gpu-1")
FIRST, SECOND = "127.0.0.2", "127.0.0.3"
RECORD = NodeRecord(NODE, "n1", (FIRST, SECOND))
POD = PodRecord(PodUid("u"), "shop", "web-0", NODE, "Running")
NOBODY = 1
"""A port at which nobody listens."""
LIMIT_S = 30.0


async def test_between_its_first_address_and_its_second() -> None:
    cache = ClusterCache()
    cache.put_node(RECORD)
    channels = NodeChannels(cache, NOBODY)
    where = ResolvedPod(POD, NODE, RECORD.internal_ips)
    asking = asyncio.create_task(ask_agent(channels, where, pb.GetGpuPodsRequest(), LIMIT_S))
    await asyncio.sleep(0)  # it is at the first address
    assert channels.count() == 1
    cache.remove_node("n1")
    with pytest.raises(StatusError) as caught:
        await asking
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    assert f"the address {SECOND} of node 'gpu-1' went away" in caught.value.message
    assert channels.count() == 0
    await channels.close()


async def test_before_its_agent_is_asked_how_it_is() -> None:
    channels = NodeChannels(ClusterCache(), NOBODY)
    expectation = Expectation(RECORD, POD)
    (diagnosed,) = await AgentsDiagnosis(channels, NOBODY).ask([expectation], LIMIT_S)
    assert not diagnosed.answered
    assert "the node went away while its agent was asked" in str(diagnosed.checks)
    assert channels.count() == 0
