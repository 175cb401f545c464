"""The text of /proc/<pid>/cgroup for each way of laying cgroups out. Pure."""

from __future__ import annotations

from simulator.kinds import CgroupShape, ContainerKind, Qos
from simulator.model import SimContainer, SimNode, SimPod, SimProcess

V1_CONTROLLERS = (
    "12:pids", "11:freezer", "10:net_cls,net_prio", "9:memory", "8:cpuset", "7:devices",
    "6:perf_event", "5:hugetlb", "4:rdma", "3:cpu,cpuacct", "2:blkio", "1:name=systemd",
)  # fmt: skip

SYSTEMD_SHAPES = (CgroupShape.SYSTEMD_V2, CgroupShape.DISAGREEING_V2)


def cgroup_text(node: SimNode, process: SimProcess) -> str:
    """What reading /proc/<pid>/cgroup gives for ``process`` on ``node``."""
    path = process.cgroup_path
    if process.container is not None:
        path = container_path(node.cgroup_shape, process.container)
    return _lines(node.cgroup_shape, path)


def cgroup_of_init(node: SimNode) -> str:
    """What reading /proc/1/cgroup gives on ``node``."""
    return _lines(node.cgroup_shape, "/init.scope")


def container_path(shape: CgroupShape, container: SimContainer) -> str:
    """The cgroup of a container under ``shape``."""
    systemd = shape in SYSTEMD_SHAPES
    if container.kind is ContainerKind.FOREIGN:
        return (
            f"/system.slice/docker-{container.id}.scope" if systemd else f"/docker/{container.id}"
        )
    if container.pod is None:
        return f"/k8s.io/{container.id}"
    if shape is CgroupShape.DISAGREEING_V2:
        slice_name = _pod_slice(container.pod)
        return f"/system.slice/containerd.service/{slice_name}:cri-containerd:{container.id}"
    if systemd:
        return f"{_systemd_pod(container.pod)}/cri-containerd-{container.id}.scope"
    return f"{_cgroupfs_pod(container.pod)}/{container.id}"


def _cgroupfs_pod(pod: SimPod) -> str:
    tier = "" if pod.qos is Qos.GUARANTEED else f"/{pod.qos.value.lower()}"
    return f"/kubepods{tier}/pod{pod.runtime_uid}"


def _systemd_pod(pod: SimPod) -> str:
    if pod.qos is Qos.GUARANTEED:
        return f"/kubepods.slice/{_pod_slice(pod)}"
    return f"/kubepods.slice/kubepods-{pod.qos.value.lower()}.slice/{_pod_slice(pod)}"


def _pod_slice(pod: SimPod) -> str:
    tier = "" if pod.qos is Qos.GUARANTEED else f"-{pod.qos.value.lower()}"
    return f"kubepods{tier}-pod{pod.runtime_uid.replace('-', '_')}.slice"


def _lines(shape: CgroupShape, path: str) -> str:
    if shape not in (CgroupShape.CGROUPFS_V1, CgroupShape.CGROUPFS_HYBRID):
        return f"0::{path}\n"
    text = "".join(f"{controller}:{path}\n" for controller in V1_CONTROLLERS)
    if shape is CgroupShape.CGROUPFS_HYBRID:
        # The runtime moves its children in the v1 trees only.
        text += "0::/system.slice/containerd.service\n"
    return text
