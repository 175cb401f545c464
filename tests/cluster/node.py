"""A node: a machine with containerd, kubelet and kube-proxy, each of which can be restarted.

A GPU node has a fake NVIDIA driver, which pods find at `DRIVER_FOLDER`.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import urllib3

from tests.cluster import imagestore, runtime
from tests.cluster.credentials import PROXY, Credentials, node_user
from tests.fakedriver.driver import FakeDriver
from tests.realparts.kubeapi import ApiError, KubeApi, node_path
from tests.realparts.processes import PartFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.cluster.addresses import AddressPlan, NodeAddresses
    from tests.cluster.machine import Machine
    from tests.cluster.parts import ClusterParts
    from tests.fakedriver.scenario import Scenario
    from tests.realparts.processes import Child

DRIVER_FOLDER: Final = "/run/fake-nvidia"
"""Has libnvidia-ml.so.1 in `lib`, and the scenario and the call counts in `state`."""
HEALTH_POLICY: Final = f"{DRIVER_FOLDER}/policy.toml"
"""An operator's: GPUs that have failed are fit again in seconds, else tests wait for minutes."""
_SOON: Final = "[recovery]\ndwell_s = 4\nlongest_dwell_s = 8\n"
STATIC_PODS: Final = "/etc/kubernetes/manifests"
_KUBELET_CONFIG: Final = "/etc/kubernetes/kubelet.json"
_PROXY_HEALTH: Final = 10256


@dataclass(frozen=True)
class NodeKind:
    """What is chosen for one node.

    A node with a `scenario` is a GPU node.
    """

    name: str
    containerd: runtime.Containerd
    scenario: Scenario | None = None


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

    def fill_images(self, archives: Sequence[Path]) -> None:
        """Have the images of docker archives on this node, before containerd is first started."""
        root = self.machine.path("/var/lib/containerd")
        imagestore.fill(root, self._kind.containerd, archives)

    def start_containerd(self) -> None:
        """Start it and wait until it answers."""
        containerd = self._kind.containerd
        config = self.machine.path(runtime.CONFIG)
        config.write_text(containerd.config(cni=self._parts.cni))
        conflist = self.machine.path(runtime.CNI_CONFIGS) / "10-pods.conflist"
        conflist.write_text(runtime.cni_config(self._addresses.pods))
        self._children["containerd"] = self.machine.start(
            "containerd",
            [containerd.program, "--config", runtime.CONFIG],
            ready=lambda: containerd.answers(self._socket),
            env=containerd.environment(),
        )

    def stop_containerd(self) -> None:
        """Stop it; the containers run on."""
        self._stop("containerd")

    def load_image(self, archive: Path) -> None:
        """Have the images of a docker archive on this node, while containerd runs."""
        self.ctr("images", "import", str(archive))

    def ctr(self, *words: str) -> str:
        """What `ctr` prints of Kubernetes' containers. Raises PartFailedError."""
        return self._kind.containerd.ctr(self._socket, *words)

    @property
    def _socket(self) -> Path:
        return self.machine.path(runtime.SOCKET)

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
        self.machine.path(HEALTH_POLICY).write_text(_SOON)
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
