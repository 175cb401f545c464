"""A cluster of one busy node: `python -m tests.bench.one_node_cluster FOLDER`.

Serves the Kubernetes API of it until stdin closes. In the folder it leaves a kubeconfig and what
the node's agent answers, as the real agent's code encodes it on the simulated node; its one line
on stdout is a pod of that node, by which to ask.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import grpc

from gpupods.addresses import HostPort
from gpupods.logs import LogFormat, LogLevel, configure_logs
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from nodeagent.agent import NodeAgent
from nodeagent.containers.identify import ProcessIdentifier
from nodeagent.diagnosis.examine import Surroundings
from nodeagent.settings import NodeAgentSettings
from simulator.apiserver import SimulatedApiServer
from simulator.changes import add_gpu, add_node, start_pod
from simulator.gpus import SimulatedGpus
from simulator.kubeconfig import kubeconfig_text
from simulator.model import Cluster, OwnerReference, SimNode, new_cluster
from simulator.pci import SimulatedPciBus
from simulator.plans import ContainerPlan, PodPlan, ProcessPlan, UsePlan
from simulator.processes import SimulatedProcessTable
from simulator.runtime import SimulatedRuntime

NODE = "node-1"
GPUS = 8
ROWS = 32
IDLE_PODS = 60
"""Pods of the node that use no GPU: their containers are in the map all the same."""

KUBECONFIG = "kubeconfig"
ANSWER = "answer.bin"


def busy_node() -> tuple[Cluster, SimNode]:
    """8 GPUs with 4 processes each, every one in a container of its own, and other pods."""
    cluster = new_cluster(seed=3)
    node = add_node(cluster, NODE, ["127.0.0.1"])
    for _ in range(GPUS):
        add_gpu(cluster, node, "NVIDIA H100 80GB HBM3", 81_559)
    for number in range(ROWS):
        process = ProcessPlan("python3", (UsePlan(number % GPUS, 17_000),))
        start_pod(cluster, node, _pod(f"train-{number}", process))
    for number in range(IDLE_PODS):
        start_pod(cluster, node, _pod(f"idle-{number}", ProcessPlan("sh")))
    return cluster, node


def _pod(name: str, process: ProcessPlan) -> PodPlan:
    owner = OwnerReference("StatefulSet", name, f"uid-of-{name}")
    container = ContainerPlan("main", "pytorch", (process,))
    return PodPlan("team", name, (container,), owner=owner, age_s=86_400.0)


async def agents_answer(cluster: Cluster, node: SimNode) -> pb.GetGpuPodsResponse:
    """What the node's agent answers."""
    table, runtime = SimulatedProcessTable(node), SimulatedRuntime(node)
    agent = NodeAgent(
        NodeAgentSettings(grpc_listen=HostPort("127.0.0.1", 0), node_name=NODE),
        SimulatedGpus(node, cluster.clock),
        ProcessIdentifier(table, runtime),
        Surroundings(runtime, table, SimulatedPciBus(node)),
    )
    listening = await agent.start()
    async with grpc.aio.insecure_channel(str(listening)) as channel:
        answer: pb.GetGpuPodsResponse = await pb_grpc.GpuPodsServiceStub(channel).GetGpuPods(
            pb.GetGpuPodsRequest()
        )
    await agent.stop()
    return answer


async def serve(folder: Path) -> None:
    """Until stdin closes."""
    cluster, node = busy_node()
    answer = await agents_answer(cluster, node)
    (folder / ANSWER).write_bytes(answer.SerializeToString())
    server = SimulatedApiServer(cluster)
    await server.start()
    (folder / KUBECONFIG).write_text(kubeconfig_text(server.url))
    print("team/train-0", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop()


if __name__ == "__main__":
    configure_logs(LogFormat.JSON, LogLevel.WARNING)
    asyncio.run(serve(Path(sys.argv[1])))
