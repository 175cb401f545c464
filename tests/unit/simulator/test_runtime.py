from __future__ import annotations

import pytest

from nodeagent.containers.runtime import RuntimeContainer, RuntimeUnavailableError
from simulator.changes import (
    delete_pod,
    restart_container,
    set_runtime_fault,
    start_other_container,
    stick_shim,
)
from simulator.kinds import ContainerKind, RuntimeFault
from simulator.plans import ProcessPlan
from simulator.runtime import SimulatedRuntime
from tests.unit.simulator.small import small


async def test_containers_carry_the_labels_of_their_pod_and_sandboxes_are_marked() -> None:
    world = small()
    known = await SimulatedRuntime(world.node).containers(1.0)
    trainer = world.pod.containers[0].id
    assert known[trainer] == RuntimeContainer(
        trainer, "resnet-0", "vision", world.pod.uid, "trainer"
    )
    assert [each.id for each in known.values() if each.is_sandbox] == [
        world.pod.sandbox and world.pod.sandbox.id
    ]


async def test_pids_are_the_containers_own() -> None:
    world = small()
    trainer = world.pod.containers[0]
    pids = await SimulatedRuntime(world.node).pids(trainer.id, 1.0)
    assert pids == tuple(process.pid for process in trainer.processes)
    assert len(pids) == 3


async def test_another_runtimes_container_is_not_known() -> None:
    world = small()
    docker = start_other_container(
        world.cluster, world.node, ContainerKind.FOREIGN, "blender", [ProcessPlan("blender")]
    )
    runtime = SimulatedRuntime(world.node)
    assert docker.id not in await runtime.containers(1.0)
    assert await runtime.pids(docker.id, 1.0) == ()


@pytest.mark.parametrize("fault", [RuntimeFault.DOWN, RuntimeFault.HANGS])
async def test_a_fault_fails_every_call_and_trusts_nothing_learnt_before(
    fault: RuntimeFault,
) -> None:
    world = small()
    runtime = SimulatedRuntime(world.node)
    assert runtime.generation() is not None
    set_runtime_fault(world.node, fault)
    for call in (runtime.containers, runtime.running):
        with pytest.raises(RuntimeUnavailableError):
            await call(0.02)
    assert runtime.generation() is None


async def test_a_slow_runtime_answers_if_there_is_time() -> None:
    world = small()
    world.node.runtime_delay_s = 0.02
    assert await SimulatedRuntime(world.node).running(1.0)
    with pytest.raises(RuntimeUnavailableError):
        await SimulatedRuntime(world.node).running(0.01)


async def test_a_stuck_shim_hangs_its_own_container_only() -> None:
    world = small()
    trainer, logger = world.pod.containers
    stick_shim(trainer)
    runtime = SimulatedRuntime(world.node)
    running = await runtime.running(1.0)
    assert trainer.id not in running
    assert logger.id in running
    with pytest.raises(RuntimeUnavailableError, match=trainer.id):
        await runtime.pids(trainer.id, 0.02)
    assert await runtime.pids(logger.id, 0.02)


async def test_a_restart_makes_another_container() -> None:
    world = small()
    runtime = SimulatedRuntime(world.node)
    before = runtime.generation()
    old = world.pod.containers[0].id
    new = restart_container(world.cluster, world.pod, "trainer")
    known = await runtime.containers(1.0)
    assert old not in known
    assert new.id in known
    assert (new.restarts, new.last_id) == (1, old)
    assert runtime.generation() != before


async def test_a_deleted_pod_leaves_nothing() -> None:
    world = small()
    delete_pod(world.cluster, world.pod)
    assert await SimulatedRuntime(world.node).containers(1.0) == {}
    assert world.node.processes == {}


async def test_a_pod_deleted_by_force_leaves_its_containers() -> None:
    world = small()
    delete_pod(world.cluster, world.pod, containers_stay=True)
    assert len(await SimulatedRuntime(world.node).containers(1.0)) == 3
    assert world.cluster.pods == {}
