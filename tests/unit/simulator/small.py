"""A small simulated node to try the twins on: two GPUs, one pod of two containers."""

from __future__ import annotations

from dataclasses import dataclass

from nodeagent.gpus.sample import ProcessType
from simulator.changes import add_gpu, add_node, start_pod
from simulator.kinds import CgroupShape
from simulator.model import Cluster, SimNode, SimPod, new_cluster
from simulator.plans import ContainerPlan, PodPlan, ProcessPlan, UsePlan


@dataclass(frozen=True)
class Small:
    cluster: Cluster
    node: SimNode
    pod: SimPod


TRAINER = ContainerPlan(
    "trainer",
    "pytorch",
    (
        ProcessPlan("python", (UsePlan(0, 1000), UsePlan(1, 2000))),
        ProcessPlan("python", (UsePlan(1, None, (ProcessType.COMPUTE, ProcessType.MPS)),)),
        ProcessPlan("sh"),
    ),
)
LOGGER = ContainerPlan("log-shipper", "fluent-bit", (ProcessPlan("fluent-bit"),))


def small(shape: CgroupShape = CgroupShape.SYSTEMD_V2) -> Small:
    cluster = new_cluster(seed=1, clock=lambda: 1_800_000_000.0)
    node = add_node(cluster, "gpu-1", ["127.1.0.1"], cgroup_shape=shape)
    add_gpu(cluster, node, "NVIDIA A100-SXM4-80GB", 81920)
    add_gpu(cluster, node, "NVIDIA A100-SXM4-80GB", 81920)
    plan = PodPlan("vision", "resnet-0", (TRAINER, LOGGER), age_s=3600.0)
    return Small(cluster, node, start_pod(cluster, node, plan))
