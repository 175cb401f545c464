"""A node: a machine with containerd, kubelet and kube-proxy, each of which can be restarted.

A GPU node has a fake NVIDIA driver, which pods find at `DRIVER_FOLDER`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import urllib3

from tests.cluster import runtime
from tests.cluster.credentials import PROXY, Credentials, node_user
from tests.fakedriver.driver import FakeDriver
from tests.realparts.kubeapi import ApiError, KubeApi, node_path
from tests.realparts.processes import PartFailedError

if TYPE_CHECKING:
    from tests.cluster.addresses import AddressPlan, NodeAddresses
    from tests.cluster.machine import Machine
    from tests.cluster.parts import ClusterParts
    from tests.fakedriver.scenario import Scenario
    from tests.realparts.processes import Child

DRIVER_FOLDER: Final = "/run/fake-nvidia"
"""Has libnvidia-ml.so.1 in `lib`, and the scenario and the call counts in `state`."""
STATIC_PODS: Final = "/etc/kubernetes/manifests"
_KUBELET_CONFIG: Final = "/etc/kubernetes/kubelet.json"
_PROXY_HEALTH: Final = 10256
_CTR_TIMEOUT_S: Final = 300.0


@dataclass(frozen=True)
class NodeKind:
    """What is chosen for one node.

    `containerd` is a folder with containerd's programs, None for Debian's; `oci_runtime` is the
    path of runc or of one like it. A node with a `scenario` is a GPU node.
    """

    name: str
    scenario: Scenario | None = None
    containerd: Path | None = None
    oci_runtime: Path | None = None


class Node:
    """One node of a cluster; `driver` is there on GPU nodes only."""

    def __init__(
        self, parts: ClusterParts, kind: NodeKind, machine: Machine, addresses: NodeAddresses
    ) -> None:
        self.name = kind.name
        self.machine = machine
        self.ip = addresses.ip
        self._parts = parts
        self._kind = kind
        self._addresses = addresses
        self._children: dict[str, Child] = {}
        self._driver = self._install_driver(kind.scenario) if kind.scenario else None

    @property
    def is_gpu_node(self) -> bool:
        return self._driver is not None

    @property
    def driver(self) -> FakeDriver:
        """The fake NVIDIA driver."""
        if self._driver is None:
            raise PartFailedError(f"{self.name} has no GPUs: only GPU nodes have a driver")
        return self._driver

    def pid(self, part: str) -> int:
        """Of the running `containerd`, `kubelet` or `kube-proxy`."""
        if part not in self._children:
            raise PartFailedError(f"{part} of {self.name} is stopped: start it first")
        return self._children[part].pid

    # containerd

    def start_containerd(self) -> None:
        """Start it and wait until it answers."""
        folder = self._kind.containerd
        binaries = folder or self._parts.base.containerd.parent
        self._write_runtime_files()
        shim = folder or self._parts.base.containerd_shim.parent
        self._children["containerd"] = self.machine.start(
            "containerd",
            [binaries / "containerd", "--config", runtime.CONFIG],
            ready=self._containerd_answers,
            # It looks for its shim there, and the CNI plugins for iptables.
            env={"PATH": os.pathsep.join([str(shim), os.environ["PATH"]])},
        )

    def stop_containerd(self) -> None:
        """Stop it; the containers run on."""
        self._stop("containerd")

    def load_image(self, archive: Path) -> None:
        """Have the images of a docker archive on this node."""
        self.ctr("images", "import", str(archive))

    def ctr(self, *words: str) -> str:
        """What `ctr` prints of Kubernetes' containers. Raises PartFailedError."""
        program = self._kind.containerd / "ctr" if self._kind.containerd else self._parts.base.ctr
        socket = self.machine.path(runtime.SOCKET)
        done = subprocess.run(
            [program, f"--address={socket}", "--namespace=k8s.io", *words],
            capture_output=True,
            text=True,
            timeout=_CTR_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise PartFailedError(
                f"ctr {' '.join(words)} on {self.name} failed: {done.stderr.strip()}"
            )
        return done.stdout

    def _containerd_answers(self) -> bool:
        try:
            self.ctr("version")
        except PartFailedError:
            return False
        return True

    def _write_runtime_files(self) -> None:
        write = runtime.containerd_2 if self._kind.containerd else runtime.containerd_1
        oci_runtime = self._kind.oci_runtime or self._parts.base.runc
        text = write(cni=self._parts.cni, oci_runtime=oci_runtime)
        self.machine.path(runtime.CONFIG).write_text(text)
        conflist = self.machine.path(runtime.CNI_CONFIGS) / "10-pods.conflist"
        conflist.write_text(runtime.cni(self._addresses.pods))

    # kubelet and kube-proxy

    def start_kubelet(self, credentials: Credentials, api: KubeApi) -> None:
        """Start it and wait until the API server has the node as ready."""
        self.machine.path(STATIC_PODS).mkdir(exist_ok=True)
        self.machine.path(_KUBELET_CONFIG).write_text(json.dumps(_kubelet_config(self.ip)))
        gpu_labels = ["--node-labels=nvidia.com/gpu.present=true"] if self.is_gpu_node else []
        self._children["kubelet"] = self.machine.start(
            "kubelet",
            [
                self._parts.kubelet,
                f"--config={_KUBELET_CONFIG}",
                f"--kubeconfig={credentials.kubeconfig(node_user(self.name))}",
                f"--hostname-override={self.name}",
                f"--node-ip={self.ip}",
                *gpu_labels,
            ],
            ready=lambda: self._is_ready(api),
        )

    def stop_kubelet(self) -> None:
        """Stop it; pods run on."""
        self._stop("kubelet")

    def put_static_pod(self, name: str, manifest: str) -> None:
        """Have the kubelet run this pod, which the API server is only told of."""
        folder = self.machine.path(STATIC_PODS)
        draft = folder.with_name(f"{name}.draft")
        draft.write_text(manifest)
        draft.rename(folder / f"{name}.json")

    def start_proxy(self, credentials: Credentials, plan: AddressPlan) -> None:
        """Start kube-proxy and wait until it has written its first rules."""
        self._children["kube-proxy"] = self.machine.start(
            "kube-proxy",
            [
                self._parts.kube_proxy,
                f"--kubeconfig={credentials.kubeconfig(PROXY)}",
                f"--hostname-override={self.name}",
                # What comes from elsewhere, this host's requests say, is answered through here.
                f"--cluster-cidr={plan.pods}",
                "--proxy-mode=iptables",
                "--conntrack-max-per-core=0",
                "--conntrack-tcp-timeout-established=0",
                "--conntrack-tcp-timeout-close-wait=0",
            ],
            ready=self._proxy_is_healthy,
        )

    def _stop(self, name: str) -> None:
        child = self._children.pop(name, None)
        if child is not None:
            self.machine.stop(child)

    def _is_ready(self, api: KubeApi) -> bool:
        try:
            node = api.get(node_path(self.name))
        except (urllib3.exceptions.HTTPError, ApiError):
            return False
        conditions = node["status"].get("conditions", ())
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def _proxy_is_healthy(self) -> bool:
        url = f"http://{self.ip}:{_PROXY_HEALTH}/healthz"
        try:
            return urllib3.request("GET", url, retries=False, timeout=2.0).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def _install_driver(self, scenario: Scenario) -> FakeDriver:
        folder = self.machine.path(DRIVER_FOLDER)
        driver = FakeDriver(folder / "state", scenario)
        shutil.copytree(driver.library_dir, folder / "lib")
        # Agents count their calls there, whatever user they run as.
        driver.calls_path.chmod(0o666)
        return driver


def _kubelet_config(ip: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": ip,
        # Whoever reaches the node may ask it: the API server, that is, and these tests.
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": f"unix://{runtime.SOCKET}",
        "staticPodPath": STATIC_PODS,
        "fileCheckFrequency": "1s",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "localStorageCapacityIsolation": False,
        "evictionHard": {},
        # No process may lower its own without CAP_SYS_RESOURCE.
        "oomScoreAdj": 0,
        "resolvConf": "",
    }
