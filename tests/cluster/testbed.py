"""The test bed: workloads in the cluster, their processes on the nodes' GPUs, and the truth.

`Testbed.truth` is what gpupods must answer of a node. It is put together from what was applied,
the API server's statuses, this host's /proc and what the fake drivers were told.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.cluster import containers, workloads
from tests.cluster.besides import Besides
from tests.e2e.truth import Living, Placed, PodOfContainer, expected_answer
from tests.fakedriver.scenario import MIB, Process, Scenario
from tests.realparts import proctree
from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from gpupods.v1alpha1 import gpupods_pb2 as pb
    from tests.cluster.cluster import Cluster
    from tests.cluster.node import Node
    from tests.realparts.containerd import Container

Json = dict[str, Any]

_RUNS_IN_S = 120.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class BedPod:
    """A pod of the test bed and its running containers, by name."""

    namespace: str
    name: str
    uid: str
    node: str
    workload: str
    containers: dict[str, Container]

    @property
    def ref(self) -> str:
        return f"{self.namespace}/{self.name}"


class Testbed:
    """Workloads in a cluster. What people know as their makers, is told when they are applied."""

    __test__ = False  # the name is the field's; pytest takes it for a test

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.besides = Besides(cluster)
        self._owners: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._placed: dict[str, list[Placed]] = defaultdict(list)
        self._sizes = iter(range(100, 100_000))

    def fill(self) -> list[BedPod]:
        """Have one workload of every kind, and processes of each container on the GPUs.

        What is there already stays; the GPUs are filled anew. The pods, as they are now.
        """
        self.apply(*map(workloads.namespace, workloads.NAMESPACES))
        self.apply(*workloads.of_every_kind(self.cluster.gpu_nodes[0].name))
        self.run_static_pod(self.cluster.gpu_nodes[0], "static")
        self.debug("team-a", "kinds", "debugger")
        pods = self.pods(expected=workloads.CONTAINERS)
        self.clear()
        for pod in pods:
            self.put_pod(pod)
        for node in self.cluster.gpu_nodes:
            self.put(node, 1, living(self.besides.podman(node), 0))
            self.put(node, 0, living_process(*self.besides.service(node)))
        return pods

    # Putting workloads there

    def apply(self, *objects: Json) -> None:
        """Apply the objects, each of which is known as the maker of its pods."""
        for one in objects:
            metadata = one["metadata"]
            owner = None if one["kind"] == "Pod" else (one["kind"], metadata["name"])
            self._owners[metadata.get("namespace", ""), metadata["name"]] = owner
        bundle = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(bundle))

    def run_static_pod(self, node: Node, name: str) -> None:
        """Put a pod's manifest on a node; its kubelet runs it and tells the API server."""
        made = workloads.pod("default", name, workloads.pod_spec(node=node.name))
        node.put_static_pod(name, json.dumps(made))
        self._owners["default", name] = ("Node", node.name)

    def debug(self, namespace: str, pod: str, name: str) -> None:
        """Have an ephemeral container in a pod, as `kubectl debug` adds it."""
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}"
        if self.cluster.api.get(path)["spec"].get("ephemeralContainers"):
            return
        wanted = workloads.container(name, terminationMessagePolicy="File")
        body = {"spec": {"ephemeralContainers": [wanted]}}
        self.cluster.api.patch(f"{path}/ephemeralcontainers", body)

    def delete(self, pod: BedPod) -> None:
        """Delete a pod that `apply` has made, and take its processes off the GPUs."""
        self.cluster.kubectl("delete", "pod", pod.name, f"--namespace={pod.namespace}")
        self.take_off_ended()

    # Finding them

    def pods(self, *, expected: int) -> list[BedPod]:
        """The pods of all workloads, once so many containers of theirs run with all processes."""
        found: list[BedPod] = []

        def are_there() -> bool:
            nonlocal found
            found = self._pods_now()
            return sum(len(pod.containers) for pod in found) == expected

        wait_until(are_there, what=f"{expected} containers of the workloads", deadline_s=_RUNS_IN_S)
        return found

    def _pods_now(self) -> list[BedPod]:
        path = f"/api/v1/pods?labelSelector={workloads.LABEL}"
        processes: dict[str, list[int]] = {}
        for node in self.cluster.nodes.values():
            processes |= containers.processes_on(node)
        found = (self._bed_pod(pod, processes) for pod in self.cluster.api.get(path)["items"])
        return [pod for pod in found if (pod.namespace, pod.workload) in self._owners]

    def _bed_pod(self, pod: Json, processes: dict[str, list[int]]) -> BedPod:
        metadata = pod["metadata"]
        ready = {
            each: processes[each]
            for _, each in containers.running_in(pod)
            if containers.settled(each, processes)
        }
        return BedPod(
            namespace=metadata["namespace"],
            name=metadata["name"],
            uid=metadata["uid"],
            node=pod["spec"].get("nodeName", ""),
            workload=metadata["labels"][workloads.LABEL],
            containers={each.name: each for each in containers.of_pod(pod, ready)},
        )

    # On the GPUs

    def put(self, node: Node, gpu: int, living: Living) -> None:
        """Have a node's driver list the process on a GPU, with a size that no other has."""
        process = Process(living.pid, next(self._sizes) * MIB)
        uuid = node.driver.scenario.gpus[gpu].uuid
        self._placed[node.name].append(Placed(uuid, process, living))
        node.driver.change(
            lambda now: now.with_gpu(
                uuid, lambda on: replace(on, processes=(*on.processes, process))
            )
        )

    def put_pod(self, pod: BedPod) -> None:
        """Each container's first process is on GPU 0, its last on both of the node's GPUs."""
        node = self.cluster.nodes[pod.node]
        for container in pod.containers.values():
            first, last = living(container, 0), living(container, -1)
            self.put(node, 0, first)
            self.put(node, 0, last)
            self.put(node, 1, last)

    def take_off_ended(self) -> None:
        """Take processes that have ended off the GPUs, as a driver does by itself."""
        for node in self.cluster.gpu_nodes:
            placed = self._placed[node.name]
            self._placed[node.name] = [each for each in placed if proctree.alive(each.process.pid)]
            kept = {each.process.pid for each in self._placed[node.name]}
            node.driver.change(partial(_only, kept))

    def clear(self) -> None:
        """Take all processes off the GPUs. The workloads run on."""
        self._placed.clear()
        for node in self.cluster.gpu_nodes:
            node.driver.change(partial(_only, frozenset()))

    # What is true

    def truth(self, node: Node, pods: list[BedPod]) -> pb.GetGpuPodsResponse:
        """What gpupods must answer of the node, of whose pods these are all there are."""
        known = {
            container.id: self._known(pod, container)
            for pod in pods
            for container in pod.containers.values()
        }
        return expected_answer(
            node.name,
            node.driver.scenario,
            self._placed[node.name],
            lambda container: known.get(container.id),
        )

    def truth_now(self, node: Node, pods: list[BedPod]) -> pb.GetGpuPodsResponse:
        """The same, once the processes that have ended meanwhile are off the GPUs."""
        self.take_off_ended()
        return self.truth(node, pods)

    def _known(self, pod: BedPod, container: Container) -> PodOfContainer:
        return PodOfContainer(
            pod.name,
            pod.namespace,
            pod.uid,
            container.name,
            self._owners[pod.namespace, pod.workload],
        )


def pod_on(node: str, pods: list[BedPod]) -> str:
    """NAMESPACE/NAME of a pod on the node; a DaemonSet's, which no drain moves."""
    return next(pod.ref for pod in pods if pod.node == node and pod.workload == "collect")


def living(container: Container, number: int) -> Living:
    """A process of a container, as it is now."""
    return living_process(container.pids[number], container.cgroup, container)


def living_process(pid: int, cgroup: str, container: Container | None = None) -> Living:
    """A process as it is now, in a container or in none."""
    ticks = proctree.start_time(pid)
    assert ticks is not None, f"process {pid} has ended"
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return Living(pid, containers.name(pid), boot + ticks / _TICKS_PER_S, cgroup, container)


def _only(pids: Collection[int], scenario: Scenario) -> Scenario:
    """The scenario with these processes alone."""
    gpus = tuple(
        replace(gpu, processes=tuple(each for each in gpu.processes if each.pid in pids))
        for gpu in scenario.gpus
    )
    return replace(scenario, gpus=gpus)
