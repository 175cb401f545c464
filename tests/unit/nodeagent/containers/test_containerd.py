"""The client of containerd's services, where a contract of all runtimes does not reach."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gpupods.identity import ContainerId
from nodeagent.containerd_api import containers_pb2
from nodeagent.containers.containerd import Containerd, describe
from nodeagent.containers.runtime import RuntimeContainer
from simulator.changes import start_pod
from simulator.plans import ContainerPlan, PodPlan, ProcessPlan
from tests.containerdservices import until
from tests.contract.simulated_containers import ServedNode, served_node

AMPLE_S = 30.0


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[ServedNode]:
    async with served_node(tmp_path) as node:
        yield node


async def following(node: ServedNode) -> int:
    """The generation, once changes are heard of."""
    async with asyncio.timeout(AMPLE_S):
        await until(lambda: node.runtime.generation() is not None)
    generation = node.runtime.generation()
    assert generation is not None
    return generation


def test_absent_labels_are_empty() -> None:
    assert describe(containers_pb2.Container(id="a" * 64)) == RuntimeContainer(
        ContainerId("a" * 64)
    )


def test_other_labels_are_not_looked_at() -> None:
    container = containers_pb2.Container(
        id="a" * 64,
        labels={"io.kubernetes.pod.name": "train", "app": "x", "io.cri-containerd.kind": "new"},
    )
    assert describe(container) == RuntimeContainer(ContainerId("a" * 64), pod="train")


async def test_a_list_of_more_than_4_mib_passes(node: ServedNode) -> None:
    for number in range(50):
        container = ContainerPlan("n" * 100_000, "busybox", (ProcessPlan("sh"),))
        start_pod(node.cluster, node.node, PodPlan("team", f"big-{number}", (container,)))
    assert len(await node.runtime.containers(AMPLE_S)) == len(node.node.containers)


async def test_changes_are_not_heard_of_before_the_first_question(node: ServedNode) -> None:
    assert node.runtime.generation() is None
    assert node.daemon.subscriptions == 0
    await node.runtime.containers(AMPLE_S)
    await following(node)
    assert node.daemon.subscriptions == 1


async def test_a_new_subscription_is_a_new_generation(node: ServedNode) -> None:
    """What changed in between was not heard."""
    await node.runtime.containers(AMPLE_S)
    before = await following(node)
    await node.daemon.stop()
    async with asyncio.timeout(AMPLE_S):
        await until(lambda: node.runtime.generation() is None)
    await node.daemon.start()
    assert await following(node) != before


async def test_closing_ends_the_subscription(node: ServedNode) -> None:
    await node.runtime.containers(AMPLE_S)
    await following(node)
    await node.runtime.close()
    assert node.runtime.generation() is None
    assert [task for task in asyncio.all_tasks() if task.get_name() == "containerd events"] == []


async def test_closing_what_was_never_asked() -> None:
    await Containerd("/nowhere/containerd.sock").close()


async def test_another_namespace_has_its_own_containers(node: ServedNode) -> None:
    moby = Containerd(node.daemon.socket, namespace="moby")
    assert await moby.containers(AMPLE_S) == {}
    await moby.close()
