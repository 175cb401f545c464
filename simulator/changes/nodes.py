"""Nodes and their GPUs come, go and change."""

from __future__ import annotations

from collections.abc import Iterable

from gpupods.identity import NodeName
from nodeagent.gpus.sample import MigDevice, MigMode
from simulator import names
from simulator.kinds import CgroupShape
from simulator.model import MIB, Cluster, SimGpu, SimNode, Verb, WallSeconds

DAY_S = 86_400.0


def add_node(
    cluster: Cluster,
    name: str,
    addresses: Iterable[str],
    *,
    cgroup_shape: CgroupShape = CgroupShape.SYSTEMD_V2,
    runtime_version: str = "containerd://1.7.27",
    labels: dict[str, str] | None = None,
) -> SimNode:
    """Add a node without GPUs, up for a month or more."""
    if NodeName(name) in cluster.nodes:
        raise ValueError(f"there is a node {name} already")
    uptime_s = cluster.random.uniform(30 * DAY_S, 90 * DAY_S)
    node = SimNode(
        name=NodeName(name),
        uid=names.object_uid(cluster.random),
        boot_id=names.object_uid(cluster.random),
        addresses=list(addresses),
        cgroup_shape=cgroup_shape,
        runtime_version=runtime_version,
        booted=WallSeconds(round(cluster.now() - uptime_s, 2)),
        labels=dict(labels or {}),
    )
    cluster.nodes[node.name] = node
    cluster.tell(Verb.ADDED, node)
    return node


def remove_node(cluster: Cluster, node: SimNode) -> None:
    """Take ``node`` out of the cluster. Its pods stay, as they do until they are collected."""
    del cluster.nodes[node.name]
    cluster.tell(Verb.DELETED, node)


def add_gpu(
    cluster: Cluster,
    node: SimNode,
    name: str,
    memory_total_mib: int,
    *,
    reserved_mib: int = 450,
    mig_mode: MigMode = MigMode.DISABLED,
) -> SimGpu:
    """Add the next GPU of ``node``."""
    index = len(node.gpus)
    bus = (0x07 + 0x1C * index) % 0xF0
    gpu = SimGpu(
        index=index,
        uuid=names.gpu_uuid(cluster.random),
        name=name,
        pci_address=f"{index // 8:08X}:{bus:02X}:00.0",
        memory_total_bytes=memory_total_mib * MIB,
        reserved_bytes=reserved_mib * MIB,
        mig_mode=mig_mode,
    )
    node.gpus.append(gpu)
    cluster.tell(Verb.MODIFIED, node)
    return gpu


def split_gpu(cluster: Cluster, gpu: SimGpu, parts: int) -> None:
    """Turn MIG on and make ``parts`` devices. The utilisation is unknown from then on."""
    gpu.mig_mode = MigMode.ENABLED
    gpu.utilization_percent = None
    first_instance = 7  # where the driver puts the first of the smallest slices
    gpu.mig_devices = [
        MigDevice(first_instance + part, 0, names.mig_uuid(cluster.random)) for part in range(parts)
    ]


def change_addresses(cluster: Cluster, node: SimNode, addresses: Iterable[str]) -> None:
    """Give ``node`` other InternalIPs."""
    node.addresses = list(addresses)
    cluster.tell(Verb.MODIFIED, node)
