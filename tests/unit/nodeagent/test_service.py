"""Those who ask a node agent at once share its work; what was not found out is not kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc

from gpupods.addresses import HostPort
from gpupods.identity import Pid
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from nodeagent.agent import NodeAgent
from nodeagent.containers.identify import ProcessIdentifier
from nodeagent.diagnosis.examine import Surroundings
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.observations import (
    DriverRead,
    ListedGpu,
    Presence,
    Reading,
    XidOfGpu,
    XidSeen,
)
from nodeagent.health.state import StateFolder
from nodeagent.pods_on_gpus import PodsOnGpus
from nodeagent.processes.table import ProcessFacts
from nodeagent.settings import NodeAgentSettings
from simulator.changes import (
    kill_process,
    set_driver_fault,
    set_gpu_lost,
    set_runtime_fault,
)
from simulator.gpus import SimulatedGpus
from simulator.kinds import DriverFault, RuntimeFault
from simulator.model import SimNode
from simulator.pci import SimulatedPciBus
from simulator.processes import SimulatedProcessTable
from simulator.runtime import SimulatedRuntime
from tests.reportbed import NodeClock
from tests.unit.simulator.small import Small, small

AN_HOUR_MS = 3_600_000


class CountedTable(SimulatedProcessTable):
    """Remembers which processes it was read for."""

    def __init__(self, node: SimNode) -> None:
        super().__init__(node)
        self.reads: list[Pid] = []

    def read(self, pid: Pid) -> ProcessFacts | None:
        self.reads.append(pid)
        return super().read(pid)


@asynccontextmanager
async def agent(
    world: Small, health: HealthMonitor | None = None
) -> AsyncIterator[tuple[Any, CountedTable]]:
    table = CountedTable(world.node)
    runtime = SimulatedRuntime(world.node)
    identifier = ProcessIdentifier(table, runtime)
    surroundings = Surroundings(runtime, table, SimulatedPciBus(world.node))
    settings = NodeAgentSettings(grpc_listen=HostPort("127.0.0.1", 0), node_name="gpu-1")
    gpus = SimulatedGpus(world.node, world.cluster.clock)
    pods = PodsOnGpus(gpus, identifier)
    started = NodeAgent(settings, gpus, identifier, surroundings, health, pods_on_gpus=pods)
    at = await started.start()
    async with grpc.aio.insecure_channel(str(at)) as channel:
        yield pb_grpc.GpuPodsServiceStub(channel), table
    await started.stop()


def rows(answer: pb.GetGpuPodsResponse) -> list[tuple[str, int, str]]:
    return sorted(
        (gpu, row.pid, row.pod) for gpu, pods in answer.GpuPods.items() for row in pods.pidPods
    )


async def test_one_sample_is_identified_once() -> None:
    async with agent(small()) as (stub, table):
        first = await stub.GetGpuPods(pb.GetGpuPodsRequest())
        again = await stub.GetGpuPods(pb.GetGpuPodsRequest(max_age_ms=AN_HOUR_MS))
    assert len(rows(first)) == 3
    assert again == first
    assert len(table.reads) == len(set(table.reads)) == 2


async def test_a_fresh_sample_is_identified_anew() -> None:
    world = small()
    async with agent(world) as (stub, table):
        first = await stub.GetGpuPods(pb.GetGpuPodsRequest())
        del world.node.processes[table.reads[0]]
        after = await stub.GetGpuPods(pb.GetGpuPodsRequest())
    assert len(rows(after)) < len(rows(first))


async def test_each_callers_map_counts_though_the_sample_is_shared() -> None:
    world = small()
    container = world.pod.containers[0].id
    async with agent(world) as (stub, table):
        answers = [
            await stub.GetGpuPods(pb.GetGpuPodsRequest(worker_id=map_, max_age_ms=AN_HOUR_MS))
            for map_ in ("", f'{{"{container}": "mine"}}', "{}", "")
        ]
    assert [{pod for _, _, pod in rows(answer)} for answer in answers] == [
        {"resnet-0"}, {"mine"}, set(), {"resnet-0"},
    ]  # fmt: skip
    assert len(table.reads) == 2


async def test_an_answer_that_lacks_something_is_not_given_again() -> None:
    world = small()
    set_runtime_fault(world.node, RuntimeFault.DOWN)
    async with agent(world) as (stub, _):
        lacking = await stub.GetGpuPods(pb.GetGpuPodsRequest())
        set_runtime_fault(world.node, RuntimeFault.NONE)
        whole = await stub.GetGpuPods(pb.GetGpuPodsRequest(max_age_ms=AN_HOUR_MS))
    assert [part.kind for part in lacking.missing] == [pb.MISSING_KIND_RUNTIME]
    assert not whole.missing
    assert len(rows(whole)) == 3


async def test_a_gpu_that_tells_nothing_any_more_has_the_pods_that_it_was_last_seen_with() -> None:
    world = small()
    first, second = world.node.gpus
    async with agent(world) as (stub, _):
        before = await stub.GetGpuPods(pb.GetGpuPodsRequest())
        set_gpu_lost(world.node, 1)
        after = await stub.GetGpuPods(pb.GetGpuPodsRequest())
        for pid in list(world.node.processes):
            kill_process(world.node, pid)
        ended = await stub.GetGpuPods(pb.GetGpuPodsRequest())
    assert [len(info.last_pods) for info in before.GpuInfos.values()] == [0, 0]
    lost = after.GpuInfos[second.uuid]
    expected = pb.LastPod(namespace="vision", pod="resnet-0", pod_uid=world.pod.uid)
    assert list(lost.last_pods) == [expected]
    assert lost.last_pods_time == before.sample_time
    assert second.uuid not in after.GpuPods
    assert list(after.GpuInfos[first.uuid].last_pods) == []
    assert list(ended.GpuInfos[second.uuid].last_pods) == []
    assert not ended.GpuInfos[second.uuid].HasField("last_pods_time")


async def test_of_a_driver_that_answers_no_more_all_gpus_have_them() -> None:
    world = small()
    async with agent(world) as (stub, _):
        await stub.GetGpuPods(pb.GetGpuPodsRequest())
        set_driver_fault(world.node, DriverFault.NOT_LOADED)
        after = await stub.GetGpuPods(pb.GetGpuPodsRequest())
    assert [len(info.last_pods) for info in after.GpuInfos.values()] == [1, 1]


async def test_before_all_has_been_heard_no_gpu_is_said_to_be_fit(tmp_path: Path) -> None:
    world = small()
    first, second = (
        ListedGpu(gpu.index, gpu.uuid, gpu.pci_address, gpu.name, Reading(Presence.PRESENT, 0))
        for gpu in world.node.gpus
    )
    before = HealthMonitor(now=NodeClock(), folder=StateFolder(tmp_path))
    await before.start()
    before.tell(DriverRead((first, second)))
    before.tell(XidOfGpu(second.uuid, "", XidSeen(142, 1000.0, "nvml")))
    await before.stop()
    health = HealthMonitor(now=NodeClock(), folder=StateFolder(tmp_path))
    async with agent(world, health) as (stub, _):
        early = await stub.GetGpuPods(pb.GetGpuPodsRequest())
        health.tell(DriverRead((first, second)))
        later = await stub.GetGpuPods(pb.GetGpuPodsRequest(max_age_ms=AN_HOUR_MS))
    assert early.sample_time == later.sample_time
    told = [
        [answer.GpuInfos[gpu.uuid].health for gpu in (first, second)] for answer in (early, later)
    ]
    assert told == [
        [pb.GPU_HEALTH_UNSPECIFIED, pb.GPU_HEALTH_UNFIT],
        [pb.GPU_HEALTH_FIT, pb.GPU_HEALTH_UNFIT],
    ]
