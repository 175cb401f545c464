"""A whole cluster with realistic content, of the size that is wanted, the same for one seed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gpupods.identity import PodRef
from nodeagent.gpus.sample import ProcessType
from simulator.changes import (
    restart_container,
    start_host_process,
    start_other_container,
    start_pod,
)
from simulator.hardware import build_nodes, loopback_address
from simulator.kinds import ContainerKind
from simulator.model import Cluster, SimNode, new_cluster
from simulator.placing import Placing
from simulator.plans import ProcessPlan
from simulator.workloads import Planner, plans

USER_SESSION = "/user.slice/user-1000.slice/session-4.scope"
DISPLAY = "/system.slice/display-manager.service"


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is to be.

    Attributes:
        nodes: GPU nodes.
        gpus_per_node: On each of those.
        pods: In the whole cluster.
        cpu_nodes: Further nodes, without a GPU.
        seed: Names, ids and figures follow from it.

    Raises:
        ValueError: a number is negative, or there would be pods and no node.
    """

    nodes: int = 4
    gpus_per_node: int = 8
    pods: int = 24
    cpu_nodes: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if min(self.nodes, self.gpus_per_node, self.pods, self.cpu_nodes) < 0:
            raise ValueError("a simulated cluster cannot have fewer than no nodes, GPUs or pods")


@dataclass(frozen=True, slots=True)
class Highlight:
    """A pod that is worth asking about."""

    pod: PodRef
    why: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """A cluster, and where to look first."""

    cluster: Cluster
    highlights: tuple[Highlight, ...]


def build(
    size: Size,
    *,
    clock: Callable[[], float] = time.time,
    address: Callable[[int], str] = loopback_address,
) -> Scenario:
    """Make a cluster of ``size``; ``address`` gives the InternalIP of each node by its number."""
    cluster = new_cluster(size.seed, clock)
    build_nodes(cluster, size.nodes, size.gpus_per_node, size.cpu_nodes, address)
    placing = Placing(cluster.random)
    for node in list(cluster.nodes.values())[:: len(cluster.nodes) // 16 + 1]:
        if node.gpus:
            _beside_kubernetes(cluster, node, placing)
    return Scenario(cluster, tuple(_start_pods(cluster, Planner(cluster, placing), size.pods)))


def _start_pods(cluster: Cluster, planner: Planner, count: int) -> list[Highlight]:
    """Start ``count`` pods; the first of each kind that is worth a look is a highlight."""
    highlights: dict[str, Highlight] = {}
    restarted = False
    for _, placed in zip(range(count), plans(planner), strict=False):
        pod = start_pod(cluster, placed.node, placed.plan)
        if placed.why:
            highlights.setdefault(placed.why, Highlight(pod.ref, placed.why))
        if not restarted and pod.namespace == "serving":
            restart_container(cluster, pod, "server")
            restarted = True
    return list(highlights.values())


def _beside_kubernetes(cluster: Cluster, node: SimNode, placing: Placing) -> None:
    """What uses a node's GPUs without being in a pod: hosts are not as tidy as one would like."""
    last, first = node.gpus[-1].index, node.gpus[0].index
    if "GeForce" in node.gpus[0].name:
        xorg = ProcessPlan("Xorg", (placing.use(node, first, 48, 1, (ProcessType.GRAPHICS,)),))
        start_host_process(cluster, node, xorg, DISPLAY, age_s=864_000.0)
        blender = ProcessPlan("ffmpeg", (placing.use(node, last, 640, 12),))
        start_other_container(cluster, node, ContainerKind.FOREIGN, "transcode", [blender])
    elif not node.gpus[0].mig_devices:
        script = ProcessPlan("python", (placing.use(node, last, 3_072, 35),))
        start_host_process(cluster, node, script, USER_SESSION, age_s=9_000.0)
        if node.cgroup_shape.name.startswith("CGROUPFS"):
            bench = ProcessPlan("nccl-test", (placing.use(node, first, 1_024, 20),))
            start_other_container(cluster, node, ContainerKind.BARE, "nccl-test", [bench])
