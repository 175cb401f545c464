"""kube-scheduler, extender, device plugin and real kubelets: pods run on the cards they were given.

The scheduler is a second one, with the rights of the cluster's own, and asks a replica that does
not lead: what it binds goes by the leader.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER, PREDICATE_TIME
from tests.cluster.credentials import SCHEDULER
from tests.cluster.devices import NAMESPACE as USERS
from tests.cluster.devices import Asking, Users, until_allocatable
from tests.cluster.product import AGENT, HTTP_PORT, NAMESPACE, Product
from tests.fakedriver.scenario import MIB
from tests.realparts.kubeapi import node_path
from tests.realparts.processes import wait_until
from tests.realparts.scheduler import configuration

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster
    from tests.cluster.node import Node

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

NAME: Final = "gpus"
UNIT: Final = "GPUPODS_NODEAGENT_DEVICE_PLUGIN_MEMORY_UNIT"
UNIT_MIB: Final = 1024
"""With one of 1 MiB a pod that asks for a whole card is never shown to run: its status has each
device in it, and is more than the API server takes."""
UNHEALTHY: Final = "volcano.sh/gpu-unhealthy-ids"
IN_S: Final = 180.0


def set_unit(product: Product, value: str) -> None:
    words = ("set", "env", f"daemonset/{AGENT}", f"--namespace={NAMESPACE}", f"{UNIT}{value}")
    product.cluster.kubectl(*words)
    product.wait()


@pytest.fixture(scope="module")
def scheduling(product: Product) -> Iterator[Product]:
    """Agents that are device plugins, controllers that are extenders, a scheduler that asks."""
    cluster = product.cluster
    product.install(overlay="overlays/volcano-share", components=["components/scheduler-extender"])
    set_unit(product, f"={UNIT_MIB}")
    for node in cluster.gpu_nodes:
        until_allocatable(cluster, node, whole(node))
    wait_until(lambda: bool(product.leader()), what="a leader", deadline_s=IN_S)
    standby = next(
        pod["status"]["podIP"]
        for pod in product.pods("controller")
        if pod["metadata"]["name"] != product.leader()
    )
    machine = cluster.nodes["cpu-1"].machine
    config = cluster.folder / "extended-scheduler.yaml"
    url = f"http://{standby}:{HTTP_PORT}/scheduler"
    kubeconfig = cluster.credentials.kubeconfig(SCHEDULER)
    config.write_text(configuration(kubeconfig, NAME, urlPrefix=url))
    scheduler = machine.start(
        "extended-scheduler",
        [cluster.parts.scheduler, f"--config={config}", "--secure-port=0", "-v=2"],
        ready=lambda: True,
    )
    yield product
    machine.stop(scheduler)
    set_unit(product, "-")
    product.install()


@pytest.fixture
def pods(scheduling: Product) -> Iterator[Pods]:
    made = Pods(scheduling.cluster)
    yield made
    made.users.clear()


class Pods:
    """Pods for the scheduler with the extender."""

    def __init__(self, cluster: Cluster) -> None:
        self.users = Users(cluster)
        self._cluster = cluster

    def make(self, name: str, limits: dict[str, int], node: str = "") -> Asking:
        pod = Asking(name, "", {"main": limits})
        made: dict[str, Any] = pod.object
        del made["spec"]["nodeName"]
        made["spec"] |= {"schedulerName": NAME}
        if node:
            made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
        self._cluster.kubectl("create", "-f", "-", stdin=json.dumps(made))
        return pod

    def running(self, pod: Asking) -> tuple[Node, str]:
        """Wait until it runs; its node, and its annotation."""
        found = self.users.until_running(pod)
        node = self._cluster.nodes[found["spec"]["nodeName"]]
        return node, found["metadata"]["annotations"][GPU_INDEX]

    def refused(self, pod: Asking) -> str:
        """What `kubectl describe` shows of a pod for which there is no node."""

        def describe() -> str:
            return self.users.describe(pod)

        wait_until(lambda: "nodes are available" in describe(), what=pod.name, deadline_s=IN_S)
        return describe()


def units(node: Node) -> list[int]:
    return [gpu.memory_total // (UNIT_MIB * MIB) for gpu in node.driver.scenario.gpus]


def whole(node: Node) -> dict[str, int]:
    return {GPU_MEMORY: sum(units(node)), GPU_NUMBER: len(units(node))}


def card(node: Node) -> int:
    return sum(units(node)) // len(units(node))


def unhealthy(cluster: Cluster, node: Node) -> str:
    metadata = cluster.api.get(node_path(node.name))["metadata"]
    return str(metadata["annotations"].get(UNHEALTHY, ""))


def until_unhealthy(cluster: Cluster, node: Node, expected: str) -> None:
    wait_until(
        partial(lambda: unhealthy(cluster, node) == expected),
        what=f"{node.name} to have unfit {expected!r}",
        deadline_s=IN_S,
    )


def lose(node: Node, index: int, *, lost: bool = True) -> None:
    uuid = node.driver.scenario.gpus[index].uuid
    node.driver.change(lambda now: now.with_gpu(uuid, lost=lost))


def test_a_pod_runs_on_the_card_that_it_was_given(scheduling: Product, pods: Pods) -> None:
    pod = pods.make("one", {GPU_MEMORY: 10})
    node, index = pods.running(pod)
    found = pods.users.environment(pod)
    assert found["NVIDIA_VISIBLE_DEVICES"] == node.driver.scenario.gpus[int(index)].uuid
    annotations = pods.users.annotations(pod)
    assert annotations["volcano.sh/gpu-assigned"] == "true"
    assert int(annotations[PREDICATE_TIME]) > 0


def test_whole_cards(scheduling: Product, pods: Pods) -> None:
    pod = pods.make("both", {GPU_NUMBER: 2})
    node, index = pods.running(pod)
    assert index == "0,1"
    visible = pods.users.environment(pod)["NVIDIA_VISIBLE_DEVICES"].split(",")
    assert sorted(visible) == sorted(gpu.uuid for gpu in node.driver.scenario.gpus)
    other = pods.make("another", {GPU_MEMORY: 1})
    assert pods.running(other)[0] != node


def test_many_pods_at_once_fill_every_card_and_no_more(scheduling: Product, pods: Pods) -> None:
    nodes = scheduling.cluster.gpu_nodes
    half = min(map(card, nodes)) // 2
    room = sum(len(units(node)) * (card(node) // half) for node in nodes)
    made = [pods.make(f"many-{number}", {GPU_MEMORY: half}) for number in range(room)]
    places = [pods.running(pod) for pod in made]
    given = Counter((node.name, index) for node, index in places)
    for node in nodes:
        for number in range(len(units(node))):
            assert given[node.name, str(number)] == card(node) // half
    for pod, (node, index) in zip(made, places, strict=True):
        uuid = node.driver.scenario.gpus[int(index)].uuid
        assert pods.users.environment(pod)["NVIDIA_VISIBLE_DEVICES"] == uuid
    shown = pods.refused(pods.make("one-too-many", {GPU_MEMORY: half}))
    assert "FailedScheduling" in shown


def test_no_pod_lands_on_a_lost_gpu_and_it_is_used_again_when_it_is_well(
    scheduling: Product, pods: Pods
) -> None:
    cluster = scheduling.cluster
    node = cluster.gpu_nodes[0]
    whole_card = {GPU_MEMORY: card(node)}
    lose(node, 0)
    try:
        until_unhealthy(cluster, node, "0")
        first = pods.make("first", whole_card, node.name)
        assert pods.running(first) == (node, "1")
        second = pods.make("second", whole_card, node.name)
        shown = pods.refused(second)
        print(shown[shown.index("Events:") :])
        assert f"node {node.name}: GPU 0 is unfit (" in shown
        assert f"GPU 1 has 0 of {card(node)} idle" in shown
    finally:
        lose(node, 0, lost=False)
    until_unhealthy(cluster, node, "")
    assert pods.running(second) == (node, "0")


def test_only_the_leader_has_bound(scheduling: Product, pods: Pods) -> None:
    pod = pods.make("asked-of-a-standby", {GPU_MEMORY: 1})
    pods.running(pod)
    told = {
        log.parent.parent.name.split("_")[1]: f"{USERS}/{pod.name}" in log.read_text()
        for log in scheduling.controller_logs()
    }
    assert told == {name: name == scheduling.leader() for name in told}
    assert len(told) == 2
