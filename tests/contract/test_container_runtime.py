"""What any container runtime does: containerd and the simulator's twin alike."""

from __future__ import annotations

import asyncio

import pytest

from gpupods.identity import ContainerId
from nodeagent.containers.runtime import RuntimeContainer, RuntimeUnavailableError
from tests.contract.container_nodes import NESTED, ContainerNode
from tests.contract.real_containers import real_node
from tests.realparts.containerd import Containerd

AMPLE_S = 30.0
SHORT_S = 0.3
NOBODY = ContainerId("0" * 64)


async def generation_after(node: ContainerNode, before: int | None) -> int:
    """The generation, once it is known and another than ``before``."""
    async with asyncio.timeout(AMPLE_S):
        while (now := node.runtime.generation()) is None or now == before:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return now


async def test_containers_are_described_by_their_pods_labels(container_node: ContainerNode) -> None:
    sandbox, container = container_node.run("trainer")
    known = await container_node.runtime.containers(AMPLE_S)
    pod = container.pod
    assert known[container.id] == RuntimeContainer(
        container.id, pod.name, pod.namespace, pod.uid, "trainer"
    )
    assert known[sandbox.id] == RuntimeContainer(
        sandbox.id, pod.name, pod.namespace, pod.uid, is_sandbox=True
    )


async def test_containers_of_others_are_not_known(container_node: ContainerNode) -> None:
    foreign = container_node.run_foreign()
    assert foreign.id not in await container_node.runtime.containers(AMPLE_S)
    assert await container_node.runtime.pids(foreign.id, AMPLE_S) == ()


async def test_pids_are_those_of_nested_processes_too(container_node: ContainerNode) -> None:
    sandbox, container = container_node.run()
    pids = await container_node.runtime.pids(container.id, AMPLE_S)
    assert len(pids) == NESTED
    assert sorted(pids) == sorted(container.pids)
    assert await container_node.runtime.pids(sandbox.id, AMPLE_S) == sandbox.pids


async def test_only_containers_that_run_are_running(container_node: ContainerNode) -> None:
    sandbox, container = container_node.run()
    running = await container_node.runtime.running(AMPLE_S)
    assert {sandbox.id, container.id} <= set(running)
    container_node.end(container)
    running = await container_node.runtime.running(AMPLE_S)
    assert container.id not in running
    assert sandbox.id in running


async def test_container_that_has_ended_is_known_without_pids(
    container_node: ContainerNode,
) -> None:
    _, container = container_node.run()
    container_node.end(container)
    assert container.id in await container_node.runtime.containers(AMPLE_S)
    assert await container_node.runtime.pids(container.id, AMPLE_S) == ()


async def test_container_that_was_deleted_is_forgotten(container_node: ContainerNode) -> None:
    _, container = container_node.run()
    container_node.delete(container)
    assert container.id not in await container_node.runtime.containers(AMPLE_S)
    assert container.id not in await container_node.runtime.running(AMPLE_S)
    assert await container_node.runtime.pids(container.id, AMPLE_S) == ()


async def test_container_that_never_was_has_no_pids(container_node: ContainerNode) -> None:
    assert await container_node.runtime.pids(NOBODY, AMPLE_S) == ()


async def test_generation_changes_when_containers_come_and_go(
    container_node: ContainerNode,
) -> None:
    await container_node.runtime.containers(AMPLE_S)
    before = await generation_after(container_node, None)
    _, container = container_node.run()
    started = await generation_after(container_node, before)
    container_node.delete(container)
    await generation_after(container_node, started)


async def test_generation_stays_while_nothing_changes(container_node: ContainerNode) -> None:
    _, container = container_node.run()
    await container_node.runtime.containers(AMPLE_S)
    await generation_after(container_node, None)
    await container_node.runtime.containers(AMPLE_S)  # after the events that were under way
    before = container_node.runtime.generation()
    await container_node.runtime.pids(container.id, AMPLE_S)
    await container_node.runtime.running(AMPLE_S)
    assert container_node.runtime.generation() == before


async def test_stuck_shim_costs_its_own_containers_only(container_node: ContainerNode) -> None:
    _, stuck = container_node.run()
    _, well = container_node.run()
    with container_node.stuck(stuck):
        with pytest.raises(RuntimeUnavailableError, match=stuck.id):
            await container_node.runtime.pids(stuck.id, SHORT_S)
        assert len(await container_node.runtime.pids(well.id, AMPLE_S)) == NESTED
        running = await container_node.runtime.running(AMPLE_S)
        assert stuck.id not in running
        assert well.id in running
        assert stuck.id in await container_node.runtime.containers(AMPLE_S)
    assert len(await container_node.runtime.pids(stuck.id, AMPLE_S)) == NESTED


async def test_runtime_that_is_away_raises_and_comes_back(container_node: ContainerNode) -> None:
    runtime = container_node.runtime
    _, container = container_node.run()
    await runtime.containers(AMPLE_S)
    before = await generation_after(container_node, None)
    await container_node.stop_runtime()
    for call in (runtime.containers, runtime.running):
        with pytest.raises(RuntimeUnavailableError):
            await call(AMPLE_S)
    with pytest.raises(RuntimeUnavailableError):
        await runtime.pids(container.id, AMPLE_S)
    assert runtime.generation() is None
    await container_node.start_runtime()
    async with asyncio.timeout(AMPLE_S):
        while container.id not in await known_or_nothing(container_node):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert len(await runtime.pids(container.id, AMPLE_S)) == NESTED
    now = await generation_after(container_node, None)
    assert now >= before


async def known_or_nothing(node: ContainerNode) -> set[ContainerId]:
    try:
        return set(await node.runtime.containers(AMPLE_S))
    except RuntimeUnavailableError:
        return set()


@pytest.mark.e2e
async def test_probes_and_other_namespaces_are_no_changes_to_containerd(
    containerd: Containerd,
) -> None:
    """A kubelet's exec probe every second must not cost a new list each."""
    async with real_node(containerd) as node:
        _, container = node.run()
        await node.runtime.containers(AMPLE_S)
        before = await generation_after(node, None)
        for number in range(3):
            probe = ("--detach", f"--exec-id=probe{number}", container.id, "/bin/busybox", "true")
            containerd.ctr("task", "exec", *probe)
        node.run_foreign()
        await node.runtime.containers(AMPLE_S)
        assert node.runtime.generation() == before
        node.run()
        await generation_after(node, before)
