"""A GPU turns unfit in a real cluster: Node and pods say so, through a restart of the agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pytest

from gpupods.node_annotations import (
    HEALTH,
    OVERRIDES,
    UNHEALTHY_IDS,
    Override,
    OverrideKind,
    format_overrides,
)
from tests.cluster.product import AGENT, NAMESPACE, Product
from tests.fakedriver.faults import Event
from tests.realparts.kubeapi import node_path
from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster
    from tests.cluster.testbed import BedPod

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

IN_S: Final = 120.0
GPU: Final = 1
OURS: Final = (UNHEALTHY_IDS, HEALTH)


@pytest.fixture(scope="module")
def reporting(product: Product) -> Iterator[Product]:
    product.install(overlay="overlays/health-reporting")
    yield product
    product.install()
    kinds = "validatingadmissionpolicybinding,validatingadmissionpolicy"
    for each in (*kinds.split(","), "clusterrolebinding", "clusterrole"):
        product.cluster.kubectl("delete", each, AGENT)


def carried(cluster: Cluster, node: str) -> dict[str, str]:
    """Our annotations of the Node."""
    annotations = cluster.api.get(node_path(node))["metadata"].get("annotations", {})
    return {name: annotations[name] for name in OURS if name in annotations}


def told(cluster: Cluster, pod: BedPod) -> list[str]:
    """The reasons of the agents' events on the pod."""
    listed: list[dict[str, Any]] = cluster.api.get(f"/api/v1/namespaces/{pod.namespace}/events")[
        "items"
    ]
    return [
        each["reason"]
        for each in listed
        if each["involvedObject"].get("uid") == pod.uid and each["source"].get("component") == AGENT
    ]


def test_it_is_on_the_node_through_a_restart_until_an_operator_restores_it(
    reporting: Product, pods: list[BedPod]
) -> None:
    cluster = reporting.cluster
    node, other = cluster.nodes["gpu-1"], cluster.nodes["gpu-2"]
    on_it = [pod for pod in pods if pod.node == node.name and pod.workload == "infer"]
    node.driver.post(Event.xid(node.driver.scenario.gpus[GPU].uuid, 142))
    wait_until(
        lambda: carried(cluster, node.name).get(UNHEALTHY_IDS) == str(GPU),
        what="the annotation",
        deadline_s=IN_S,
    )
    before = carried(cluster, node.name)
    (gpu,) = json.loads(before[HEALTH])
    assert (gpu["index"], gpu["xid"]) == (GPU, 142)
    assert carried(cluster, other.name) == {}
    for pod in on_it:
        wait_until(
            lambda pod=pod: told(cluster, pod) == ["GpuUnfit"],  # type: ignore[misc]
            what=f"an event on {pod.ref}",
            deadline_s=IN_S,
        )
    shown = cluster.kubectl("describe", "node", node.name)
    assert "SomeGpusUnfit" in shown

    reporting.restart(f"daemonset/{AGENT}")
    reporting.wait()
    assert carried(cluster, node.name) == before
    assert "orbidden" not in agents_log(cluster)

    word = Override(OverrideKind.RESTORE, "anna", "looked at it", datetime.now(UTC))
    words = {OVERRIDES: format_overrides({GPU: word})}
    cluster.api.patch(node_path(node.name), {"metadata": {"annotations": words}})
    wait_until(
        lambda: carried(cluster, node.name) == {}, what="the GPU to be fit again", deadline_s=IN_S
    )
    cluster.api.patch(node_path(node.name), {"metadata": {"annotations": {OVERRIDES: None}}})
    assert all(told(cluster, pod).count("GpuUnfit") == 1 for pod in on_it)


def agents_log(cluster: Cluster) -> str:
    words = ("logs", f"--namespace={NAMESPACE}", "--selector=app.kubernetes.io/component=nodeagent")
    return cluster.kubectl(*words, "--container=nodeagent", "--tail=-1")
