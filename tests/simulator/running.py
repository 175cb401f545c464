"""A simulated cluster for one test: asked through its controller, and waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from gpupods import AsyncClient, GpuPodsError
from gpupods.identity import GpuUuid
from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.cluster import SimulatedCluster, SimulationOptions
from simulator.model import SimNode, SimPod
from simulator.questions import wrong_with
from simulator.scenario import Size

SMALL = Size(nodes=4, gpus_per_node=4, pods=24)
PATIENCE_S = 20.0
"""How long a change may take to be seen before the test fails."""


class Running:
    """What the tests need of a running cluster."""

    def __init__(self, cluster: SimulatedCluster, client: AsyncClient) -> None:
        self.cluster = cluster
        self.truth = cluster.truth
        self.client = client

    async def ask(self, question: str, *, timeout_s: float = 5.0) -> pb.GetGpuPodsResponse:
        return await self.client.get_gpu_pods_message(question, timeout_s=timeout_s)

    async def wrong(self, pod: SimPod) -> list[str]:
        return wrong_with(self.cluster, pod.ref, await self.ask(str(pod.ref)))

    async def until_right(self, pod: SimPod) -> None:
        """Until an answer about ``pod`` is as simulated: a change is seen when its event is."""
        async for _ in patiently():
            try:
                wrong = await self.wrong(pod)
            except GpuPodsError as error:
                wrong = [str(error)]
            if not wrong:
                return
        raise AssertionError(wrong)

    async def until_refused(self, question: str, kind: type[GpuPodsError]) -> str:
        """Until the question is answered with an error of ``kind``; returns its message."""
        async for _ in patiently():
            try:
                await self.ask(question)
            except kind as error:
                return str(error)
            except GpuPodsError:
                continue
        raise AssertionError(f"{question} is answered still, or not with {kind.__name__}")

    def pod(self, starts_with: str) -> SimPod:
        """The first pod with a name like this."""
        return next(p for p in self.truth.pods.values() if p.name.startswith(starts_with))

    def node(self, starts_with: str) -> SimNode:
        """The first node with a name like this."""
        return next(n for n in self.truth.nodes.values() if n.name.startswith(starts_with))

    def placed(self) -> Iterator[SimPod]:
        """The pods that run on a node with GPUs."""
        return (pod for pod in self.truth.pods.values() if pod.node and pod.node.gpus)


@asynccontextmanager
async def running(size: Size = SMALL, **options: object) -> AsyncIterator[Running]:
    """A cluster of ``size``, and a client of its controller."""
    wanted = SimulationOptions(size=size, **options)  # type: ignore[arg-type]
    async with SimulatedCluster(wanted) as cluster, AsyncClient(str(cluster.grpc)) as client:
        yield Running(cluster, client)


async def patiently() -> AsyncIterator[None]:
    """Again and again, until it has taken too long."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        yield
        await asyncio.sleep(0.01)


def rows(response: pb.GetGpuPodsResponse) -> list[tuple[GpuUuid, pb.PidPods]]:
    """Every row of a pod."""
    return [(GpuUuid(gpu), row) for gpu, pods in response.GpuPods.items() for row in pods.pidPods]


def reasons(response: pb.GetGpuPodsResponse) -> dict[str, int]:
    """Process name -> why it has no pod."""
    return {
        each.process.processName: each.reason
        for listed in response.unattributed.values()
        for each in listed.processes
    }


def missing(response: pb.GetGpuPodsResponse, kind: int) -> list[str]:
    """Why something of ``kind`` is missing."""
    return [part.reason for part in response.missing if part.kind == kind]
