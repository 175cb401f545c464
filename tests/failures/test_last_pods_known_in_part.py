"""A GPU tells of its processes in part, late, or not at all: who was on it is not forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pytest

from gpupods.identity import Pid
from nodeagent.containers.identify import ProcessIdentifier
from nodeagent.containers.identity import Identification
from nodeagent.gpus.sample import GpuSample, Missing, MissingKind, Moment
from nodeagent.pods_on_gpus import PodsOnGpus
from simulator.changes import start_host_process
from simulator.gpus import SimulatedGpus
from simulator.model import WallSeconds
from simulator.plans import ProcessPlan, UsePlan
from simulator.processes import SimulatedProcessTable
from simulator.runtime import SimulatedRuntime
from tests.healthwatch import AMPLE_S
from tests.unit.simulator.small import Small, small


@dataclass
class Node:
    """A node with a pod on its first GPU, which is sampled by a test."""

    world: Small
    pods: PodsOnGpus
    whole: GpuSample

    async def named(self) -> list[str]:
        first = self.world.node.gpus[0].uuid
        found = await self.pods.last({first}, AMPLE_S)
        return [pod.name for pod in found[first].pods] if first in found else ["never seen"]

    def sees(self, *, at_s: float, processes: bool, whole: bool) -> None:
        """The first GPU, so many seconds after the whole sample."""
        assert self.whole.taken is not None
        taken = Moment(self.whole.taken.wall + at_s, self.whole.taken.boot + at_s)
        gpu = self.whole.gpus[0]
        gpu = replace(gpu, processes=gpu.processes if processes else (), processes_whole=whole)
        why = Missing(MissingKind.GPU, gpu.uuid, "nvmlDeviceGetUtilizationRates: UNKNOWN")
        self.pods.remember(GpuSample(taken, (gpu,), (why,)))


@pytest.fixture
async def node() -> Node:
    world = small()
    gpus = SimulatedGpus(world.node, world.cluster.clock)
    identifier = ProcessIdentifier(SimulatedProcessTable(world.node), SimulatedRuntime(world.node))
    return Node(world, PodsOnGpus(gpus, identifier), await gpus.sample(AMPLE_S))


async def test_what_else_a_gpu_does_not_tell_is_nothing_to_its_processes(node: Node) -> None:
    node.sees(at_s=0, processes=True, whole=True)
    assert await node.named() == ["resnet-0"]
    node.sees(at_s=1, processes=False, whole=True)
    assert await node.named() == []


async def test_a_list_that_is_not_whole_forgets_nobody(node: Node) -> None:
    node.sees(at_s=0, processes=True, whole=True)
    node.sees(at_s=1, processes=False, whole=False)
    assert await node.named() == ["resnet-0"]


async def test_those_that_it_has_are_remembered_where_nobody_was(node: Node) -> None:
    node.sees(at_s=0, processes=False, whole=True)
    node.sees(at_s=1, processes=True, whole=False)
    assert await node.named() == ["resnet-0"]
    node.sees(at_s=2, processes=False, whole=True)
    assert await node.named() == []


async def test_an_older_sample_that_somebody_was_content_with_changes_nothing(node: Node) -> None:
    node.sees(at_s=5, processes=True, whole=True)
    node.sees(at_s=1, processes=False, whole=True)
    assert await node.named() == ["resnet-0"]


async def test_a_pid_is_of_the_moment_when_it_was_listed(node: Node) -> None:
    """It is reused, then the GPU tells in part of another: the new process was never on it."""
    node.sees(at_s=0, processes=True, whole=True)
    first, *others = node.whole.gpus[0].processes
    assert not others
    process = node.world.node.processes[first.pid]
    process.started = WallSeconds(node.world.cluster.now() + 0.5)
    plan = ProcessPlan("Xorg", (UsePlan(0, 10),))
    other = start_host_process(node.world.cluster, node.world.node, plan, "/user.slice")
    gpu = replace(
        node.whole.gpus[0], processes=(replace(first, pid=other.pid),), processes_whole=False
    )
    assert node.whole.taken is not None
    later = Moment(node.whole.taken.wall + 1, node.whole.taken.boot + 1)
    node.pods.remember(GpuSample(later, (gpu,)))
    assert await node.named() == []


class Stuck(ProcessIdentifier):
    """A runtime that takes all the time it is given."""

    given: list[float]

    async def identify(
        self, pids: Iterable[Pid], sampled: Moment, timeout_s: float
    ) -> Identification:
        self.given.append(timeout_s)
        await asyncio.sleep(timeout_s)
        return Identification({}, {})


async def test_gpus_that_went_at_different_times_share_the_time_there_is(node: Node) -> None:
    world = node.world
    stuck = Stuck(SimulatedProcessTable(world.node), SimulatedRuntime(world.node))
    stuck.given = []
    pods = PodsOnGpus(SimulatedGpus(world.node, world.cluster.clock), stuck)
    for at_s, gpu in enumerate(node.whole.gpus):
        pods.remember(GpuSample(Moment(at_s, at_s), (gpu,)))
    await pods.last({gpu.uuid for gpu in node.whole.gpus}, 0.05)
    assert len(stuck.given) == 2
    assert sum(stuck.given) <= 0.05
