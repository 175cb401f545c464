"""gpupods in the cluster: its images built by its own Dockerfile, its manifests applied.

As an operator does it, but for two things: the images come as archives, not from a registry,
and the agents find the fake driver of their node, which no NVIDIA runtime mounts here.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.cluster.node import DRIVER_FOLDER, HEALTH_POLICY
from tests.fakedriver.driver import CALLS_VARIABLE, SCENARIO_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.cluster.cluster import Cluster
    from tests.cluster.node import Node

NAMESPACE: Final = "gpupods-system"
CONTROLLER: Final = "gpupods-controller"
AGENT: Final = "gpupods-nodeagent"
GRPC_PORT: Final = 50050
HTTP_PORT: Final = 8080
_MANIFESTS: Final = Path(__file__).parents[2] / "manifests"
_ROLLED_OUT_IN: Final = "--timeout=150s"


class Product:
    """The product in a cluster, from `install` on."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def install(self, *, overlay: str = "base", components: Sequence[str] = ()) -> None:
        """Apply manifests/`overlay` with more components, and wait until everything is ready."""
        folder = self.cluster.folder / "-".join((overlay, *components)).replace("/", "-")
        folder.mkdir(exist_ok=True)
        base, *added = (
            os.path.relpath(_MANIFESTS / part, folder) for part in (overlay, *components)
        )
        text = json.dumps(_with_fake_driver(base) | {"components": added})
        (folder / "kustomization.yaml").write_text(text)
        self.cluster.kubectl("apply", "--server-side", "-k", str(folder))
        self.wait()

    def wait(self) -> None:
        """Wait until what was last asked for is rolled out and ready."""
        for name in (f"daemonset/{AGENT}", f"deployment/{CONTROLLER}"):
            words = ("rollout", "status", name, f"--namespace={NAMESPACE}", _ROLLED_OUT_IN)
            self.cluster.kubectl(*words)

    def restart(self, name: str) -> None:
        """Have each of its pods replaced, as a new version does; returns at once."""
        self.cluster.kubectl("rollout", "restart", name, f"--namespace={NAMESPACE}")

    def pods(self, component: str) -> list[dict[str, Any]]:
        """The pods of `controller` or of `nodeagent`."""
        selector = f"app.kubernetes.io/component={component}"
        path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={selector}"
        listed: list[dict[str, Any]] = self.cluster.api.get(path)["items"]
        return listed

    def leader(self) -> str:
        """The name of the controller's pod that leads; empty if none does."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{CONTROLLER}"
        holder: str = self.cluster.api.get(path)["spec"].get("holderIdentity", "")
        # POD_xxxx: a pod's next run is another candidate.
        return holder.partition("_")[0]

    def keep_controllers_off(self, node: Node) -> None:
        """Have the controllers that run on the node run elsewhere."""
        self.cluster.kubectl("cordon", node.name)
        for pod in self.pods("controller"):
            if pod["spec"]["nodeName"] == node.name:
                name = pod["metadata"]["name"]
                self.cluster.kubectl("delete", "pod", name, f"--namespace={NAMESPACE}")
        self.wait()
        self.cluster.kubectl("uncordon", node.name)

    def controller_logs(self) -> list[Path]:
        """The log of each running controller, on its node: the API server is not needed."""
        folders = [
            self.cluster.nodes[pod["spec"]["nodeName"]].machine.path("/var/log/pods")
            / f"{NAMESPACE}_{pod['metadata']['name']}_{pod['metadata']['uid']}"
            for pod in self.pods("controller")
        ]
        return [log for folder in folders for log in folder.glob("controller/*.log")]

    @property
    def grpc(self) -> str:
        """HOST:PORT of the controller's Service, for gRPC."""
        return f"{self._address()}:{GRPC_PORT}"

    @property
    def http(self) -> str:
        """HOST:PORT of the controller's Service, for HTTP."""
        return f"{self._address()}:{HTTP_PORT}"

    def _address(self) -> str:
        path = f"/api/v1/namespaces/{NAMESPACE}/services/{CONTROLLER}"
        return str(self.cluster.api.get(path)["spec"]["clusterIP"])


def _with_fake_driver(base: str) -> dict[str, Any]:
    """A kustomization of `base` whose agents find their node's fake driver."""
    environment = {
        "LD_LIBRARY_PATH": f"{DRIVER_FOLDER}/lib",
        SCENARIO_VARIABLE: f"{DRIVER_FOLDER}/state/scenario",
        CALLS_VARIABLE: f"{DRIVER_FOLDER}/state/calls",
        "GPUPODS_NODEAGENT_HEALTH_POLICY": HEALTH_POLICY,
        "GPUPODS_NODEAGENT_HEALTH_INTERVAL": "1",
    }
    container = {
        "name": "nodeagent",
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "volumeMounts": [{"name": "driver", "mountPath": DRIVER_FOLDER}],
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "driver", "hostPath": {"path": DRIVER_FOLDER, "type": "Directory"}}],
    }
    patch = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": AGENT},
        "spec": {"template": {"spec": spec}},
    }
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [base],
        "patches": [{"target": {"kind": "DaemonSet", "name": AGENT}, "patch": json.dumps(patch)}],
    }
