"""The nodes of a simulated cluster: pools of different GPUs, cgroup layouts and MIG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from nodeagent.gpus.sample import MigMode
from simulator.changes import add_gpu, add_node, split_gpu
from simulator.kinds import CgroupShape
from simulator.model import Cluster, SimNode

MIG_PARTS = 7
"""As many of the smallest slices as fit on an A100."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one kind."""

    name: str
    gpu: str
    memory_mib: int
    shape: CgroupShape
    runtime: str
    mig: bool = False
    """Every second GPU, from the first, is split."""
    mig_mode: MigMode = MigMode.DISABLED
    reserved_mib: int = 450


POOLS = (
    Pool("a100", "NVIDIA A100-SXM4-80GB", 81_920, CgroupShape.SYSTEMD_V2, "containerd://1.7.27"),
    Pool("h100", "NVIDIA H100 80GB HBM3", 81_559, CgroupShape.CGROUPFS_V2, "containerd://2.1.4"),
    Pool(
        "mig",
        "NVIDIA A100-SXM4-40GB",
        40_960,
        CgroupShape.DISAGREEING_V2,
        "containerd://1.7.27",
        mig=True,
    ),
    Pool(
        "rtx",
        "NVIDIA GeForce RTX 3090",
        24_576,
        CgroupShape.CGROUPFS_HYBRID,
        "containerd://1.6.20",
        mig_mode=MigMode.UNSUPPORTED,
        reserved_mib=260,
    ),
)


def loopback_address(number: int) -> str:
    """The address of node ``number``: every address of 127/8 is this machine's, on Linux."""
    return f"127.{64 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"


def build_nodes(
    cluster: Cluster,
    gpu_nodes: int,
    gpus_per_node: int,
    cpu_nodes: int,
    address: Callable[[int], str] = loopback_address,
) -> None:
    """Add the nodes, the pools taking turns, then those without a GPU."""
    for number in range(gpu_nodes):
        pool = POOLS[number % len(POOLS)]
        name = f"gpu-{pool.name}-{number // len(POOLS) + 1}"
        _gpu_node(cluster, pool, name, address(number), gpus_per_node)
    for number in range(cpu_nodes):
        add_node(
            cluster,
            f"cpu-{number + 1}",
            [address(gpu_nodes + number)],
            labels={"node.kubernetes.io/instance-type": "general"},
        )


def _gpu_node(cluster: Cluster, pool: Pool, name: str, address: str, gpus: int) -> SimNode:
    node = add_node(
        cluster,
        name,
        [address],
        cgroup_shape=pool.shape,
        runtime_version=pool.runtime,
        labels={
            "nvidia.com/gpu.product": pool.gpu.replace(" ", "-"),
            "nvidia.com/gpu.count": str(gpus),
            "nvidia.com/gpu.memory": str(pool.memory_mib),
        },
    )
    if not pool.mig:  # whose parts are no cards of equal memory
        node.capacity = {GPU_NUMBER: str(gpus), GPU_MEMORY: str(gpus * pool.memory_mib)}
    for index in range(gpus):
        gpu = add_gpu(
            cluster,
            node,
            pool.gpu,
            pool.memory_mib,
            reserved_mib=pool.reserved_mib,
            mig_mode=pool.mig_mode,
        )
        if pool.mig and index % 2 == 0:
            split_gpu(cluster, gpu, MIG_PARTS)
    return node
