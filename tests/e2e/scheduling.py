"""Nodes with GPUs and pods that ask for them, for the real kube-scheduler to bring together.

There is no kubelet: a pod that is bound is where the tests end.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Final, Self

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER
from gpupods.node_annotations import HEALTH, UNHEALTHY_IDS, UnfitGpu, UnfitStanding, format_health
from tests.realparts import objects
from tests.realparts.kubeapi import ApiError, node_path, pod_path
from tests.realparts.processes import wait_until
from tests.realparts.scheduler import KubeScheduler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.e2e.programs import Controller, Programs
    from tests.realparts.apiserver import Apiserver
    from tests.realparts.objects import Json

CARD: Final = 4096
_NUMBERS = itertools.count(1)
_ADDRESS: Final = "127.0.0.1"


class GpuCluster:
    """A controller that is an extender, a scheduler that asks it, and a namespace of their own."""

    controller: Controller

    def __init__(self, apiserver: Apiserver, programs: Programs) -> None:
        self.api = apiserver.api
        self.kubectl = apiserver.kubectl
        self.namespace = f"scheduling-{next(_NUMBERS)}"
        self.scheduler = KubeScheduler(apiserver)
        self._apiserver = apiserver
        self._programs = programs
        self._nodes: list[str] = []
        self._pods: list[str] = []
        self._controllers: list[Controller] = []

    def __enter__(self) -> Self:
        self.api.create_namespace(self.namespace)
        return self

    def __exit__(self, *_: object) -> None:
        self.scheduler.__exit__()
        for controller in self._controllers:
            controller.stop()
        self.clear()

    def clear(self) -> None:
        """Without pods and nodes again."""
        for name in self._pods:
            self._delete(pod_path(self.namespace, name))
        for name in self._nodes:
            self._delete(node_path(name))
        self._pods, self._nodes = [], []

    def _delete(self, path: str) -> None:
        try:
            self.api.delete(path)
        except ApiError as error:
            if error.status != 404:
                raise

    def start(self, *controller_flags: str, **extender: object) -> Self:
        """Start both."""
        self.start_controller(*controller_flags)
        self.scheduler.start(f"http://{self.controller.http}/scheduler", **extender)
        return self

    def start_controller(self, *flags: str, ready: str = "ready") -> Controller:
        """Start a controller that is an extender."""
        self.controller = self._programs.controller(
            *("--kubeconfig", str(self._apiserver.kubeconfig), "--scheduler-extender"),
            *("--grpc-listen", f"{_ADDRESS}:0", "--http-listen", f"{_ADDRESS}:0", *flags),
            ready=ready,
        )
        self._controllers.append(self.controller)
        return self.controller

    # Nodes

    def node(
        self, *, gpus: int = 2, card: int = CARD, unfit: Mapping[int, str] | None = None
    ) -> str:
        """A node with so many GPUs; its name."""
        name = f"{self.namespace}-node-{next(_NUMBERS)}"
        made = objects.node(name, _ADDRESS, annotations=reported(unfit or {}))
        shared = {GPU_MEMORY: str(gpus * card), GPU_NUMBER: str(gpus)} if gpus else {}
        made["status"]["capacity"] = {"cpu": "64", "memory": "64Gi", "pods": "110", **shared}
        made["status"]["allocatable"] = made["status"]["capacity"]
        self.api.create_node(made)
        self._nodes.append(name)
        return name

    def set_unfit(self, node: str, unfit: Mapping[int, str]) -> None:
        """What the node's agent would report: index to reason."""
        written = {UNHEALTHY_IDS: None, HEALTH: None, **reported(unfit)}
        self.api.patch(node_path(node), {"metadata": {"annotations": written}})

    # Pods

    def pod(self, *, memory: int = 0, number: int = 0, **spec: object) -> str:
        """A pod that asks for GPUs; its name."""
        name = f"pod-{next(_NUMBERS)}"
        limits = {GPU_MEMORY: str(memory), GPU_NUMBER: str(number)}
        made = objects.pod(self.namespace, name)
        made["spec"] |= {"schedulerName": self.scheduler.name, **spec}
        made["spec"]["containers"][0]["resources"] = {
            "limits": {resource: limit for resource, limit in limits.items() if limit != "0"}
        }
        self.api.create_pod(made)
        self._pods.append(name)
        return name

    def read(self, pod: str) -> Json:
        return self.api.get(pod_path(self.namespace, pod))

    def delete(self, pod: str) -> None:
        self.api.delete(pod_path(self.namespace, pod))

    def place(self, pod: str) -> tuple[str, str | None]:
        """Wait until the pod is bound; its node and the annotation with its GPUs."""
        wait_until(
            lambda: self.is_bound(pod),
            what=f"pod {pod} to be bound; {self.waiting(pod)}",
            deadline_s=60,
        )
        found = self.read(pod)
        return found["spec"]["nodeName"], found["metadata"].get("annotations", {}).get(GPU_INDEX)

    def is_bound(self, pod: str) -> bool:
        return bool(self.read(pod)["spec"].get("nodeName"))

    def nudge(self) -> None:
        """A change of the cluster, of which a living one has many: pods are tried again."""
        self.node(gpus=0)

    def gpus(self, pod: str) -> str:
        """Wait until the pod is bound; the annotation with its GPUs."""
        return str(self.place(pod)[1])

    def waiting(self, pod: str) -> str:
        """What the scheduler says of a pod that is not bound; "" while it says nothing."""
        conditions = self.read(pod).get("status", {}).get("conditions", ())
        told = [each for each in conditions if each["type"] == "PodScheduled"]
        return str(told[0].get("message", "")) if told else ""

    def refused(self, pod: str) -> str:
        """Wait until the scheduler has said why it has no node for the pod."""
        wait_until(
            lambda: "nodes are available" in self.waiting(pod),
            what=f"pod {pod} to be refused",
            deadline_s=60,
        )
        assert not self.read(pod)["spec"].get("nodeName")
        return self.waiting(pod)

    def described(self, pod: str, word: str) -> str:
        """What `kubectl describe pod` shows, once its events have ``word``."""

        def describe() -> str:
            return self.kubectl("describe", "pod", pod, f"--namespace={self.namespace}")

        wait_until(lambda: word in describe(), what=f"an event of {pod} with {word!r}")
        return describe()


def reported(unfit: Mapping[int, str]) -> dict[str, str]:
    """As a node's agent writes them."""
    if not unfit:
        return {}
    gpus = [
        UnfitGpu(index, f"GPU-{index}", f"00000000:{index:02x}:00.0", UnfitStanding.UNFIT, reason)
        for index, reason in unfit.items()
    ]
    health = format_health(gpus)
    assert health is not None
    assert json.loads(health)
    return {UNHEALTHY_IDS: ",".join(map(str, sorted(unfit))), HEALTH: health}
