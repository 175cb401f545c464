"""Which pods are on a GPU when it changes, and which were on one that lists none any more."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from nodeagent.containers.identify import ProcessIdentifier
from nodeagent.health.verdict import Standing
from nodeagent.pods_on_gpus import PodOnGpu, PodsOnGpus, Witness
from simulator.changes import (
    kill_process,
    set_driver_fault,
    set_gpu_lost,
    set_runtime_fault,
    start_host_process,
)
from simulator.gpus import SimulatedGpus
from simulator.kinds import DriverFault, RuntimeFault
from simulator.plans import ProcessPlan, UsePlan
from simulator.processes import SimulatedProcessTable
from simulator.runtime import SimulatedRuntime
from tests.unit.nodeagent.reporting.verdicts import fit, unfit
from tests.unit.simulator.small import Small, small


@dataclass
class Node:
    """A simulated node with a pod on its two GPUs, and what looks at it."""

    world: Small
    pods: PodsOnGpus

    @property
    def uuids(self) -> list[str]:
        return [gpu.uuid for gpu in self.world.node.gpus]

    @property
    def pod(self) -> PodOnGpu:
        return PodOnGpu("vision", "resnet-0", self.world.pod.uid)

    async def on(self, index: int) -> tuple[PodOnGpu, ...]:
        found = await self.pods.look()
        return found[self.world.node.gpus[index].uuid]


@pytest.fixture
def node() -> Node:
    world = small()
    identifier = ProcessIdentifier(SimulatedProcessTable(world.node), SimulatedRuntime(world.node))
    return Node(world, PodsOnGpus(SimulatedGpus(world.node, world.cluster.clock), identifier))


async def test_a_pod_with_several_processes_is_named_once(node: Node) -> None:
    assert await node.on(0) == (node.pod,)
    assert await node.on(1) == (node.pod,)


async def test_a_process_of_no_pod_is_not(node: Node) -> None:
    for pid in list(node.world.node.processes):
        kill_process(node.world.node, pid)
    plan = ProcessPlan("Xorg", (UsePlan(0, 10),))
    start_host_process(node.world.cluster, node.world.node, plan, "/user.slice")
    assert await node.on(0) == ()


async def test_a_lost_gpu_has_those_that_it_was_last_seen_with(node: Node) -> None:
    await node.pods.look()
    set_gpu_lost(node.world.node, 1)
    assert await node.on(1) == (node.pod,)


async def test_of_them_only_those_that_still_run(node: Node) -> None:
    await node.pods.look()
    set_gpu_lost(node.world.node, 1)
    for pid in list(node.world.node.processes):
        kill_process(node.world.node, pid)
    assert await node.on(1) == ()


async def test_a_driver_that_hangs_names_those_of_before(node: Node) -> None:
    await node.pods.look()
    set_driver_fault(node.world.node, DriverFault.HANGS)
    assert await node.on(0) == (node.pod,)


async def test_a_runtime_that_is_away_costs_the_names_and_nothing_else(node: Node) -> None:
    set_runtime_fault(node.world.node, RuntimeFault.DOWN)
    assert await node.on(0) == ()


async def test_a_witness_remembers_who_was_there_when_it_changed(node: Node) -> None:
    witness = Witness(node.pods)
    first, second = (
        replace(verdict, uuid=gpu.uuid)
        for verdict, gpu in zip((fit(0), unfit(1)), node.world.node.gpus, strict=True)
    )
    witness.changed((first, second))
    assert await witness.pods_on(second.uuid) == (node.pod,)
    for pid in list(node.world.node.processes):
        kill_process(node.world.node, pid)
    witness.changed((first, replace(second, reason="XID 79 in other words")))
    assert await witness.pods_on(second.uuid) == (node.pod,)
    assert await witness.pods_on(first.uuid) == (), "it has never changed"
    witness.changed((first, replace(second, standing=Standing.RECOVERING)))
    assert await witness.pods_on(second.uuid) == ()
    await witness.stop()


async def test_without_a_place_to_look_nobody_is_named() -> None:
    witness = Witness(None)
    witness.changed((unfit(1),))
    assert await witness.pods_on("GPU-1") == ()
