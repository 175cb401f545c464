"""What each step of a request costs, taken by itself in one process: medians, in microseconds.

The node agent's steps are on real processes in real containers and the fake driver, the
controller's on the cache that it has filled from a simulated API server. What gRPC and HTTP cost
around them is the difference to the figures of `agent` and `through_controller`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

from controller.controller import Controller
from controller.enrich import enrich
from controller.http import protojson
from controller.resolve import resolve
from controller.settings import ControllerSettings
from gpupods.addresses import HostPort
from gpupods.kube.access import KubeAccess
from gpupods.logs import LogFormat, LogLevel, configure_logs
from gpupods.v1alpha1 import gpupods_pb2 as pb
from nodeagent.containers.containerd import Containerd
from nodeagent.containers.identify import ProcessIdentifier
from nodeagent.encode import encode_answer
from nodeagent.gpus.driver import DriverProcess
from nodeagent.join import join
from nodeagent.pod_map import parse_pod_map
from nodeagent.processes.proc import ProcTable
from simulator.apiserver import SimulatedApiServer
from simulator.kubeconfig import KubeconfigFile
from tests.bench.gpu_node import GpuNode, gpu_node
from tests.bench.one_node_cluster import agents_answer, busy_node
from tests.bench.report import Figure, median, quick, show

T = TypeVar("T")
LIMIT_S = 30.0
ANY_PORT = HostPort("127.0.0.1", 0)


class Steps:
    """Times one step after the other, and gives what the last time brought."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []

    def time(self, name: str, step: Callable[[], T]) -> T:
        """Do ``step`` many times."""
        for _ in self._timed(name):
            result = step()
        return result

    async def wait(self, name: str, step: Callable[[], Awaitable[T]]) -> T:
        """The same of a step that waits for something."""
        for _ in self._timed(name):
            result = await step()
        return result

    def _timed(self, name: str) -> Iterator[None]:
        took = []
        for _ in range(50 if quick() else 500):
            began = time.perf_counter()
            yield
            took.append(time.perf_counter() - began)
        self.figures.append(Figure(name, median(took) * 1e6, "us"))


def main() -> None:
    """Measure and print."""
    configure_logs(LogFormat.JSON, LogLevel.ERROR)
    containers = 40 if quick() else 200
    with gpu_node(containers) as node:
        of_agent = asyncio.run(agent_steps(node))
    show(f"a request at the node agent, {containers} containers, 8 GPUs, 32 rows", of_agent)
    of_controller = asyncio.run(controller_steps())
    show("a request at the controller, a node of 92 pods and 8 GPUs, 32 rows", of_controller)


async def agent_steps(node: GpuNode) -> list[Figure]:
    """In the order of a request."""
    steps, table = Steps(), ProcTable()
    gpus = DriverProcess(LIMIT_S, node.driver.environment({}))
    runtime = Containerd(node.containerd.socket)
    identifier = ProcessIdentifier(table, runtime)
    try:
        pods = steps.time("read a map it has not seen before", lambda: parse_pod_map(node.pod_map))
        sample = await steps.wait("ask the driver, in its process", lambda: gpus.sample(LIMIT_S))
        taken = sample.taken
        assert taken is not None, sample.missing
        pids = sorted({process.pid for gpu in sample.gpus for process in gpu.processes})
        found = await steps.wait(
            "identify 32 processes", lambda: identifier.identify(pids, taken, LIMIT_S)
        )
        steps.time("  of which: read them in /proc", lambda: [table.read(pid) for pid in pids])
        joined = steps.time("join", lambda: join(sample, found, pods))
        answer = steps.time(
            "write the messages", lambda: encode_answer("node-1", sample, joined, (), 0.0)
        )
        steps.time("write the bytes", answer.SerializeToString)
    finally:
        await gpus.close()
        await runtime.close()
    return steps.figures


async def controller_steps() -> list[Figure]:
    """In the order of a request."""
    cluster, node = busy_node()
    answer = (await agents_answer(cluster, node)).SerializeToString()
    server, file = SimulatedApiServer(cluster), KubeconfigFile(None)
    await server.start()
    kubeconfig = file.write(server.url)
    controller = _controller(kubeconfig)
    await controller.start()
    try:
        assert await controller.informers.wait_synced(LIMIT_S)
        return _controller_steps(controller, answer)
    finally:
        await controller.stop()
        await server.stop()
        file.remove()


def _controller(kubeconfig: Path) -> Controller:
    settings = ControllerSettings(
        grpc_listen=ANY_PORT, http_listen=ANY_PORT, kubeconfig=str(kubeconfig)
    )
    return Controller(settings, KubeAccess.load(settings.kubeconfig))


def _controller_steps(controller: Controller, answer: bytes) -> list[Figure]:
    steps, cache = Steps(), controller.cache
    where = steps.time("resolve the pod", lambda: resolve("team/train-0", cache))
    question = steps.time(
        "write the question, with the node's map",
        lambda: pb.GetGpuPodsRequest(worker_id=cache.container_map(where.node)),
    )
    steps.time("write its bytes", question.SerializeToString)
    read = steps.time("read the agent's answer", lambda: pb.GetGpuPodsResponse.FromString(answer))
    steps.time("enrich 32 rows", lambda: enrich(read, cache))
    steps.time("write the answer's bytes", read.SerializeToString)
    steps.time("for HTTP: write its JSON", lambda: protojson.to_json(read))
    return steps.figures
