"""`Cluster`: a control plane, two GPU nodes and one without, from start to end.

    with Cluster(parts.ensure()) as cluster:
        cluster.kubectl("get", "nodes")

Everything is in one temporary folder and under one cgroup, both noted by `remains`: what a
killed run leaves, the next one clears away.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from tests.cluster import images
from tests.cluster.controlplane import ControlPlane
from tests.cluster.credentials import ADMIN, Credentials
from tests.cluster.machine import Machine
from tests.cluster.network import Network
from tests.cluster.node import Node, NodeKind
from tests.cluster.runtime import Containerd
from tests.fakedriver.scenario import GIB, Gpu, Scenario
from tests.realparts import cgroups, remains
from tests.realparts.processes import PartFailedError, Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.cluster.parts import ClusterParts
    from tests.realparts.kubeapi import KubeApi

_CONTROL_PLANE: Final = "control-plane"
_KUBECTL_TIMEOUT_S: Final = 180.0


def default_nodes(parts: ClusterParts) -> tuple[NodeKind, ...]:
    """Two GPU nodes with two GPUs each, and one without.

    Between them they have what nodes differ in: containerd 1 and 2, runc and crun. Debian 12's
    crun is too old for containerd 2, whose containers are of a later OCI version.
    """
    old = Containerd.of_debian(parts.base)
    crun = replace(old, oci_runtime=parts.crun)
    first = Scenario((Gpu.number(0, memory_used=20 * GIB, utilization=71), Gpu.number(1)))
    second = Scenario((Gpu.number(2, utilization=8), Gpu.number(3, mig=None, name="NVIDIA L4")))
    return (
        NodeKind("gpu-1", crun, first),
        NodeKind("gpu-2", parts.containerd_2, second),
        NodeKind("cpu-1", old),
    )


class Cluster:
    """A running cluster, whose nodes have the images of `archives` from the start.

    The last of its nodes carries this host's requests to Services.
    """

    def __init__(
        self,
        parts: ClusterParts,
        archives: Iterable[Path] = (),
        kinds: tuple[NodeKind, ...] | None = None,
    ) -> None:
        _check_this_machine()
        self.parts = parts
        self._archives = tuple(archives)
        self._kinds = kinds or default_nodes(parts)
        self._supervisor = Supervisor()
        self.folder = self._supervisor.folder
        # All of the cluster's processes are in it and those under it.
        self._cgroup = f"/{self.folder.name}"
        remains.note_cgroups(self.folder, [self._cgroup])

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything at once and remove what it has made."""
        # Nothing of it is to be ended gently, one after the other.
        for pid in cgroups.processes(self._cgroup):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._supervisor.close()

    @property
    def api(self) -> KubeApi:
        """The API server, as the administrator."""
        return self.control_plane.api

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.credentials.kubeconfig(ADMIN)

    @property
    def gpu_nodes(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.is_gpu_node]

    @property
    def busybox_archive(self) -> Path:
        """The images PAUSE and BUSYBOX, as each node has them."""
        return self.folder / "busybox.tar"

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        """What the real kubectl prints, as the administrator. Raises PartFailedError."""
        done = subprocess.run(
            [self.parts.base.kubectl, *words],
            # HOME: kubectl keeps what it discovered there, and would remember it.
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_KUBECTL_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise PartFailedError(f"kubectl {' '.join(words)} failed: {done.stderr.strip()}")
        return done.stdout

    def load_image(self, archive: Path, nodes: Iterable[Node] | None = None) -> None:
        """Have the images of a docker archive on these nodes, on all if none are named."""
        self._on_all(lambda node: node.load_image(archive), nodes)

    def start_kubelet(self, node: Node) -> None:
        """Start a node's kubelet after `Node.stop_kubelet`."""
        node.start_kubelet(self.credentials, self.api)

    def _start(self) -> None:
        machine = self._boot(_CONTROL_PLANE)
        self.network = Network(self.parts.base.ip, machine)
        self.plan = self.network.plan
        names = tuple(kind.name for kind in self._kinds)
        self.credentials = Credentials(self.folder / "credentials", self.plan, names)
        self.control_plane = ControlPlane(self.parts, machine, self.plan, self.credentials)
        with ThreadPoolExecutor(1) as beside:
            started = beside.submit(self.control_plane.start)
            self._start_nodes()
            started.result()
        self._on_all(lambda node: node.start_kubelet(self.credentials, self.api))
        self._on_all(lambda node: node.start_proxy(self.credentials, self.plan))

    def _boot(self, name: str) -> Machine:
        machine = Machine(self._supervisor, name)
        machine.boot()
        return machine

    def _start_nodes(self) -> None:
        """As far as nodes need no control plane."""
        plans = {kind.name: self.plan.node(n) for n, kind in enumerate(self._kinds, start=1)}
        self.nodes = {
            kind.name: Node(self.parts, kind, self._boot(kind.name), plans[kind.name])
            for kind in self._kinds
        }
        for node in self.nodes.values():
            self.network.join(node.machine, plans[node.name])
        for name, addresses in plans.items():
            others = (node.machine for node in self.nodes.values() if node.name != name)
            for machine in (None, *others):
                self.network.route(machine, addresses)
        self.network.route_services(plans[self._kinds[-1].name])
        archive = images.small_images(self.parts.base.busybox, self.busybox_archive)
        for node in self.nodes.values():
            node.fill_images([archive, *self._archives])
        self._on_all(Node.start_containerd)

    def _on_all(self, do: Callable[[Node], Any], nodes: Iterable[Node] | None = None) -> None:
        chosen = list(self.nodes.values() if nodes is None else nodes)
        with ThreadPoolExecutor(len(chosen)) as pool:
            list(pool.map(do, chosen))


def _check_this_machine() -> None:
    """Raise PartFailedError unless a cluster can run here."""
    if os.geteuid() != 0:
        raise PartFailedError("a cluster makes namespaces, links and cgroups: run this as root")
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        raise PartFailedError(
            "this machine has cgroup v2 alone, for which the cluster's machines are not made yet: "
            "boot it with systemd.unified_cgroup_hierarchy=0, or use a machine that has v1"
        )
