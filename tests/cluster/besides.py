"""What computes on a node beside Kubernetes: a podman container and a process of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.cluster import containers
from tests.cluster.images import BUSYBOX
from tests.cluster.workloads import PROCESSES
from tests.realparts import ocispec, proctree
from tests.realparts.containerd import Container
from tests.realparts.objects import PodIdentity
from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster
    from tests.cluster.node import Node

_SERVICE: Final = "/system.slice/trainer.service"
_START_IN_CGROUP: Final = """
for tree in /sys/fs/cgroup/*/; do
    mkdir -p "$tree$1"
    for made in "$tree${1%/*}" "$tree$1"; do
        for file in cpuset.cpus cpuset.mems; do
            [ ! -e "$made/$file" ] || cat "$tree/$file" >"$made/$file"
        done
    done
    echo $$ >"$tree$1/cgroup.procs"
done
exec sleep 2000000000
"""


class Besides:
    """One of each on a node, started when it is first asked for. They end with the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._podmans: dict[str, Container] = {}
        self._services: dict[str, int] = {}

    def podman(self, node: Node) -> Container:
        """A podman container on the node. It is in no namespace of containerd's."""
        if node.name not in self._podmans:
            self._podmans[node.name] = self._run_podman(node, "beside")
        return self._podmans[node.name]

    def service(self, node: Node) -> tuple[int, str]:
        """A process of the host, as systemd runs one; its pid, and its cgroup on the node."""
        if node.name not in self._services:
            self._services[node.name] = self._run_service(node)
        return self._services[node.name], _SERVICE

    def _run_podman(self, node: Node, name: str) -> Container:
        podman = (self._cluster.parts.podman, "--storage-driver=vfs", "--cgroup-manager=cgroupfs")
        node.machine.run(*podman, "load", "--input", self._cluster.busybox_archive)
        # Without CAP_SYS_RESOURCE nobody can raise the limits that podman would set.
        limits = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=16384:16384")
        words = ("run", "--detach", "--network=none", *limits, f"--name={name}")
        script = ocispec.shell_script(PROCESSES)
        made = node.machine.run(
            *podman, *words, "--entrypoint=", BUSYBOX, "/bin/sh", "-c", script
        ).strip()
        key = f"libpod-{made}"
        wait_until(
            lambda: containers.settled(key, containers.processes_on(node)),
            what=f"the processes of podman's container {name} on {node.name}",
        )
        pids = tuple(containers.processes_on(node)[key])
        nobody = PodIdentity("", "", "")
        return Container(made, nobody, name, "container", key, pids, namespace="podman")

    def _run_service(self, node: Node) -> int:
        child = node.machine.start(
            "trainer", ["sh", "-c", _START_IN_CGROUP, "sh", _SERVICE], ready=lambda: True
        )
        wait_until(
            lambda: (
                f"{node.machine.cgroup}{_SERVICE}" in proctree.cgroup_paths(child.pid)
                and containers.name(child.pid) == "sleep"
            ),
            what=f"the trainer's process on {node.name}",
        )
        return child.pid
