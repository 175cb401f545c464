"""Pods that ask for GPUs of a node, as a scheduler leaves them, and what became of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER, PREDICATE_TIME
from gpupods.accounting.quantity import parse_quantity
from tests.cluster.images import BUSYBOX
from tests.realparts.kubeapi import node_path
from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster
    from tests.cluster.node import Node

Json = dict[str, Any]

NAMESPACE: Final = "gpu-users"
RESOURCES: Final = (GPU_MEMORY, GPU_NUMBER)
IN_S: Final = 120.0


@dataclass(frozen=True)
class Asking:
    """A pod of one container or more; ``limits`` are each container's, in order."""

    name: str
    node: str
    limits: Mapping[str, Mapping[str, int]]
    index: str | None = None
    time_ns: int = 1
    init: str = ""
    """Which of its containers ends before the others start."""

    @property
    def object(self) -> Json:
        chosen = {GPU_INDEX: self.index, PREDICATE_TIME: str(self.time_ns)} if self.index else {}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "namespace": NAMESPACE,
                "name": self.name,
                "annotations": chosen,
            },
            "spec": {
                "nodeName": self.node,
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0,
                "automountServiceAccountToken": False,
                "initContainers": [self._container(self.init, "exit 0")] if self.init else [],
                "containers": [
                    self._container(name, "sleep 100000")
                    for name in self.limits
                    if name != self.init
                ],
            },
        }

    def _container(self, name: str, script: str) -> Json:
        return {
            "name": name,
            "image": BUSYBOX,
            "imagePullPolicy": "Never",
            "command": ["/bin/sh", "-c", script],
            "resources": {"limits": {key: str(n) for key, n in self.limits[name].items()}},
        }


def sharing(name: str, node: Node, units: int, index: str | None, time_ns: int = 1) -> Asking:
    """Asks for memory of one GPU."""
    return Asking(name, node.name, {"main": {GPU_MEMORY: units}}, index, time_ns)


def owning(name: str, node: Node, gpus: int, index: str | None) -> Asking:
    """Asks for whole GPUs."""
    return Asking(name, node.name, {"main": {GPU_NUMBER: gpus}}, index)


class Users:
    """Pods that use a cluster's GPUs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        cluster.api.create_namespace(NAMESPACE)

    def apply(self, *pods: Asking) -> None:
        """Have them, all at once."""
        bundle = {"apiVersion": "v1", "kind": "List", "items": [pod.object for pod in pods]}
        self._cluster.kubectl("apply", "-f", "-", stdin=json.dumps(bundle))

    def clear(self) -> None:
        """Delete all, and wait until their GPUs are free."""
        words = ("--all", f"--namespace={NAMESPACE}", "--force", "--grace-period=0")
        self._cluster.kubectl("delete", "pods", *words)

    def read(self, pod: Asking) -> Json:
        found: Json = self._cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod.name}")
        return found

    def until_running(self, pod: Asking) -> Json:
        """The pod, once all of it runs."""
        found: Json = {}

        def runs() -> bool:
            nonlocal found
            found = self.read(pod)
            assert found["status"]["phase"] != "Failed", found["status"]
            return bool(found["status"]["phase"] == "Running")

        wait_until(runs, what=f"{pod.name} to run", deadline_s=IN_S)
        return found

    def until_refused(self, pod: Asking) -> str:
        """What the kubelet says of a pod that it does not let in."""
        wait_until(
            lambda: self.read(pod)["status"]["phase"] == "Failed",
            what=f"the refusal of {pod.name}",
            deadline_s=IN_S,
        )
        return str(self.read(pod)["status"]["message"])

    def environment(self, pod: Asking, container: str = "main") -> dict[str, str]:
        """What a process in the container has of GPUs."""
        words = ("exec", pod.name, f"--namespace={NAMESPACE}", f"--container={container}")
        said = self._cluster.kubectl(*words, "--", "/bin/busybox", "env")
        of_gpus = (line for line in said.splitlines() if line.startswith(("NVIDIA_", "VOLCANO_")))
        return dict(line.split("=", 1) for line in of_gpus)

    def describe(self, pod: Asking) -> str:
        return self._cluster.kubectl("describe", "pod", pod.name, f"--namespace={NAMESPACE}")

    def annotations(self, pod: Asking) -> dict[str, str]:
        return dict(self.read(pod)["metadata"].get("annotations") or {})


def capacity(cluster: Cluster, node: Node) -> dict[str, int]:
    return _resources(cluster, node, "capacity")


def allocatable(cluster: Cluster, node: Node) -> dict[str, int]:
    return _resources(cluster, node, "allocatable")


def _resources(cluster: Cluster, node: Node, kind: str) -> dict[str, int]:
    listed = cluster.api.get(node_path(node.name))["status"][kind]
    return {name: parse_quantity(listed[name]) for name in RESOURCES if name in listed}


def sockets(node: Node) -> set[Path]:
    """The sockets at which the node's agent serves the kubelet."""
    return set(_folder(node).glob("gpupods-*.sock"))


def until_registered(node: Node, before: set[Path]) -> None:
    """Wait until the kubelet has the lists of an agent that serves at other sockets by now.

    The Node shows for seconds what it had before.
    """
    noted = _folder(node) / "kubelet_internal_checkpoint"

    def registered() -> bool:
        now = sockets(node)
        if len(now) < len(RESOURCES) or now & before:
            return False
        return noted.stat().st_mtime_ns > max(each.stat().st_mtime_ns for each in now)

    wait_until(registered, what=f"other plugins on {node.name}", deadline_s=IN_S)


def _folder(node: Node) -> Path:
    return node.machine.path("/var/lib/kubelet/device-plugins")


def until_allocatable(cluster: Cluster, node: Node, expected: Mapping[str, int]) -> None:
    """Wait until that is what the Node has to give."""
    wait_until(
        lambda: allocatable(cluster, node) == expected,
        what=f"{expected} on {node.name}, which has {allocatable(cluster, node)}",
        deadline_s=IN_S,
    )
