"""The device plugin with real kubelets: what the Node shows, what pods get, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from tests.cluster.devices import NAMESPACE as USERS
from tests.cluster.devices import (
    Asking,
    Users,
    allocatable,
    capacity,
    owning,
    sharing,
    sockets,
    until_allocatable,
    until_registered,
)
from tests.cluster.product import AGENT, NAMESPACE, Product
from tests.contract.kubelet_cases import CASES, Case, Environments, name_of
from tests.fakedriver.scenario import MIB
from tests.pluginbed import Wanted
from tests.realparts.kubeapi import node_path
from tests.realparts.processes import PartFailedError, wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster
    from tests.cluster.node import Node

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

HEALTH: Final = "GPUPODS_NODEAGENT_DEVICE_PLUGIN_HEALTH"
ANNOTATION: Final = "volcano.sh/gpu-unhealthy-ids"
IN_S: Final = 120.0


@pytest.fixture(scope="module")
def installed(product: Product) -> Iterator[Product]:
    yield product
    all_fit(product.cluster)
    product.install()


@pytest.fixture
def share(installed: Product, users: Users) -> Product:
    """Agents that offer memory and whole GPUs."""
    installed.install(overlay="overlays/volcano-share")
    for node in installed.cluster.gpu_nodes:
        until_allocatable(installed.cluster, node, whole(node))
    all_fit(installed.cluster)
    return installed


def all_fit(cluster: Cluster) -> None:
    """Wait until no GPU is unfit: one that was stays so for a while."""
    for node in cluster.gpu_nodes:
        wait_until(
            partial(lambda node: not unfit(cluster, node), node),
            what=f"fit GPUs on {node.name}",
            deadline_s=IN_S,
        )


@pytest.fixture
def users(cluster: Cluster) -> Iterator[Users]:
    made = Users(cluster)
    yield made
    made.clear()


@pytest.fixture
def node(cluster: Cluster) -> Node:
    return cluster.gpu_nodes[0]


def memory_mib(node: Node) -> list[int]:
    return [gpu.memory_total // MIB for gpu in node.driver.scenario.gpus]


def whole(node: Node) -> dict[str, int]:
    """What a node has whose GPUs are all fit: each counted with its own memory."""
    return {GPU_MEMORY: sum(memory_mib(node)), GPU_NUMBER: len(memory_mib(node))}


def uuid(node: Node, index: int) -> str:
    return str(node.driver.scenario.gpus[index].uuid)


def lose(node: Node, index: int, *, lost: bool = True) -> None:
    node.driver.change(lambda now: now.with_gpu(uuid(node, index), lost=lost))


def unfit(cluster: Cluster, node: Node) -> str:
    metadata = cluster.api.get(node_path(node.name))["metadata"]
    return str(metadata["annotations"].get(ANNOTATION, ""))


def set_health(product: Product, choice: str) -> None:
    words = ("set", "env", f"daemonset/{AGENT}", f"--namespace={NAMESPACE}", f"{HEALTH}={choice}")
    product.cluster.kubectl(*words)
    product.wait()


class RealNode:
    """A node of the cluster, as the cases of `tests.contract.kubelet_cases` see it."""

    def __init__(self, cluster: Cluster, node: Node, users: Users) -> None:
        self._cluster = cluster
        self._node = node
        self._users = users
        self.unit_mib = 1
        self.memory_mib = memory_mib(node)

    def uuid(self, index: int) -> str:
        return uuid(self._node, index)

    async def capacity(self) -> dict[str, int]:
        return capacity(self._cluster, self._node)

    async def allocatable(self) -> dict[str, int]:
        return allocatable(self._cluster, self._node)

    async def run(self, *pods: Wanted) -> list[Environments]:
        asking = [self._asking(pod) for pod in pods]
        self._users.apply(*asking)
        for pod in asking:
            self._users.until_running(pod)
        return [{name: self._users.environment(pod, name) for name in pod.limits} for pod in asking]

    async def refusal(self, pod: Wanted) -> str:
        asking = self._asking(pod)
        self._users.apply(asking)
        said = self._users.until_refused(asking)
        assert said.removeprefix("Pod was rejected: ") in self._users.describe(asking)
        return said

    async def annotations(self, pod: Wanted) -> dict[str, str]:
        return self._users.annotations(self._asking(pod))

    async def lose(self, index: int) -> None:
        lose(self._node, index)
        wait_until(
            lambda: unfit(self._cluster, self._node) == str(index),
            what="the annotation",
            deadline_s=IN_S,
        )

    def _asking(self, pod: Wanted) -> Asking:
        return Asking(pod.name, self._node.name, pod.limits, pod.index, pod.time_ns or 1)


@pytest.fixture
def real_node(share: Product, users: Users, cluster: Cluster, node: Node) -> Iterator[RealNode]:
    yield RealNode(cluster, node, users)
    for index in range(2):
        lose(node, index, lost=False)


@pytest.mark.parametrize("case", CASES, ids=name_of)
async def test_on_a_real_kubelet(case: Case, real_node: RealNode) -> None:
    await case(real_node)


def test_the_kubelet_can_be_told_of_an_unfit_gpu(share: Product, cluster: Cluster) -> None:
    node = cluster.gpu_nodes[1]  # a GPU that fails again is unfit for longer
    set_health(share, "kubelet")
    until_allocatable(cluster, node, whole(node))
    lose(node, 1)
    try:
        until_allocatable(cluster, node, {GPU_MEMORY: memory_mib(node)[0], GPU_NUMBER: 1})
        assert capacity(cluster, node) == whole(node)
    finally:
        lose(node, 1, lost=False)
        set_health(share, "auto")
    until_allocatable(cluster, node, whole(node))


def test_a_kubelet_that_starts_again_has_the_devices_again(
    share: Product, users: Users, cluster: Cluster, node: Node
) -> None:
    before = sharing("before", node, 100, "0")
    users.apply(before)
    users.until_running(before)
    served_at = sockets(node)
    node.stop_kubelet()
    cluster.start_kubelet(node)
    until_registered(node, served_at)
    until_allocatable(cluster, node, whole(node))
    after = sharing("after", node, 100, "1")
    users.apply(after)
    users.until_running(after)
    assert users.environment(after)["NVIDIA_VISIBLE_DEVICES"] == uuid(node, 1)
    assert users.read(before)["status"]["phase"] == "Running"


def test_an_agent_that_starts_again_offers_the_devices_again(
    share: Product, users: Users, cluster: Cluster, node: Node
) -> None:
    before = sharing("before", node, 100, "0")
    users.apply(before)
    users.until_running(before)
    served_at = sockets(node)
    share.restart(f"daemonset/{AGENT}")
    share.wait()
    until_registered(node, served_at)
    until_allocatable(cluster, node, whole(node))
    after = sharing("after", node, 100, "1")
    users.apply(after)
    users.until_running(after)
    assert users.environment(after)["NVIDIA_VISIBLE_DEVICES"] == uuid(node, 1)
    assert users.read(before)["status"]["phase"] == "Running"


def test_an_agent_writes_to_no_pod_of_another_node(
    share: Product, users: Users, cluster: Cluster
) -> None:
    here, there = cluster.gpu_nodes
    pod = sharing("theirs", there, 100, "0")
    users.apply(pod)
    users.until_running(pod)
    said = write_as_agent(share, here, pod, {"volcano.sh/gpu-assigned": "false"})
    assert "to the pods of its own node alone" in said
    said = write_as_agent(share, there, pod, {"team": "ours"})
    assert "no annotations of pods but" in said
    assert write_as_agent(share, there, pod, {"volcano.sh/gpu-assigned": "false"}) == ""


def write_as_agent(product: Product, node: Node, pod: Asking, what: dict[str, str]) -> str:
    """What the API server says to the agent of ``node``; "" where it takes it."""
    agent = next(
        each for each in product.pods("nodeagent") if each["spec"]["nodeName"] == node.name
    )
    bound = {"kind": "Pod", "name": agent["metadata"]["name"], "uid": agent["metadata"]["uid"]}
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{AGENT}/token"
    answer = product.cluster.api.post(path, {"spec": {"boundObjectRef": bound}})
    patch = json.dumps({"metadata": {"annotations": what}})
    words = ("patch", "pod", pod.name, f"--namespace={USERS}", "--type=merge", f"--patch={patch}")
    try:
        product.cluster.kubectl(*words, f"--token={answer['status']['token']}")
    except PartFailedError as error:
        return str(error)
    return ""


def test_whole_gpus_alone(installed: Product, users: Users, cluster: Cluster) -> None:
    node = cluster.gpu_nodes[1]
    installed.install(overlay="overlays/volcano-number")
    until_allocatable(cluster, node, {GPU_MEMORY: 0, GPU_NUMBER: 2})
    assert capacity(cluster, node) == whole(node)
    pod = owning("both", node, 2, "0,1")
    users.apply(pod)
    users.until_running(pod)
    found = users.environment(pod)
    assert found["NVIDIA_VISIBLE_DEVICES"] == f"{uuid(node, 0)},{uuid(node, 1)}"
    assert found["VOLCANO_GPU_ALLOCATED"] == "2"
    users.clear()
    limits = {"early": {GPU_NUMBER: 2}, "one": {GPU_NUMBER: 1}, "two": {GPU_NUMBER: 1}}
    pod = Asking("in-parts", node.name, limits, "0,1", init="early")
    users.apply(pod)
    users.until_running(pod)
    for container, index in (("one", 0), ("two", 1)):
        found = users.environment(pod, container)
        assert found["NVIDIA_VISIBLE_DEVICES"] == uuid(node, index)
    assert users.annotations(pod)["volcano.sh/gpu-assigned"] == "true"
    users.clear()
    lose(node, 0)
    try:
        until_allocatable(cluster, node, {GPU_MEMORY: 0, GPU_NUMBER: 1})
        assert capacity(cluster, node) == whole(node)
    finally:
        lose(node, 0, lost=False)
