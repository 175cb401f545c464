"""A GPU stays unfit in a real cluster: who may go is evicted and made again, who may not stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.cluster.product import CONTROLLER, NAMESPACE, Product
from tests.e2e.programs import Ended, run_script
from tests.fakedriver.faults import Event
from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster
    from tests.cluster.testbed import BedPod

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

IN_S: Final = 180.0
GPU: Final = 1
UNHEALTHY: Final = "volcano.sh/gpu-unhealthy-ids"
AT_ONCE: Final = {"AFTER": "2", "PAUSE": "1", "PER_MINUTE": "60"}
BUDGET: Final = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"namespace": "team-a", "name": "infer"},
    "spec": {"minAvailable": 2, "selector": {"matchLabels": {"workload": "infer"}}},
}


def at_once(cluster: Cluster) -> str:
    """A component by which pods are evicted after seconds."""
    folder = cluster.folder / "evict-at-once"
    folder.mkdir(exist_ok=True)
    env = [
        {"name": f"GPUPODS_CONTROLLER_EVICT_{name}", "value": value}
        for name, value in AT_ONCE.items()
    ]
    patch = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": CONTROLLER},
        "spec": {"template": {"spec": {"containers": [{"name": "controller", "env": env}]}}},
    }
    component = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": [
            {"target": {"kind": "Deployment", "name": CONTROLLER}, "patch": json.dumps(patch)}
        ],
    }
    (folder / "kustomization.yaml").write_text(json.dumps(component))
    return str(folder)


@pytest.fixture(scope="module")
def evicting(product: Product) -> Iterator[Product]:
    cluster = product.cluster
    product.install(overlay="overlays/eviction", components=[at_once(cluster)])
    wait_until(lambda: bool(product.leader()), what="a leader", deadline_s=IN_S)
    yield product
    product.install()
    for kind in ("clusterrolebinding", "clusterrole"):
        cluster.kubectl("delete", kind, "gpupods-eviction")


def gpupods(cluster: Cluster, *words: str) -> Ended:
    return run_script("gpupods", *words, env={"KUBECONFIG": str(cluster.kubeconfig)}, timeout_s=90)


def on_node(pods: list[BedPod], node: str, *workloads: str) -> dict[str, BedPod]:
    return {pod.workload: pod for pod in pods if pod.node == node and pod.workload in workloads}


def events(cluster: Cluster, pod: BedPod) -> dict[str, str]:
    """Reason -> message of the controller's events on the pod."""
    listed = cluster.api.get(f"/api/v1/namespaces/{pod.namespace}/events")["items"]
    return {
        each["reason"]: each["message"]
        for each in listed
        if each["involvedObject"].get("uid") == pod.uid
        and each["source"].get("component") == CONTROLLER
    }


def is_there(cluster: Cluster, pod: BedPod) -> bool:
    path = f"/api/v1/namespaces/{pod.namespace}/pods"
    found: list[dict[str, Any]] = cluster.api.get(path)["items"]
    return any(
        each["metadata"]["uid"] == pod.uid and "deletionTimestamp" not in each["metadata"]
        for each in found
    )


def test_who_may_go_is_evicted_and_who_may_not_stays(evicting: Product, pods: list[BedPod]) -> None:
    cluster = evicting.cluster
    node = cluster.nodes["gpu-1"]
    uuid = node.driver.scenario.gpus[GPU].uuid
    going = on_node(pods, node.name, "infer", "store", "train")
    staying = on_node(pods, node.name, "collect", "static", "twin")
    elsewhere = [pod for pod in pods if pod.node != node.name]
    infer = going["infer"]
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(BUDGET))
    try:
        node.driver.post(Event.xid(uuid, 48))
        wait_until(
            lambda: "EvictionRefused" in events(cluster, infer),
            what="the budget to be respected",
            deadline_s=IN_S,
        )
        listed = json.loads(gpupods(cluster, "gpu", "list", "--unfit", "-o", "json").stdout)
        (gpu,) = listed["gpus"]
        assert (gpu["nodeName"], gpu["info"]["index"], gpu["announced"]) == (node.name, GPU, True)
        on_it = {(pod["namespace"], pod["name"]) for pod in gpu["pods"]}
        assert (infer.namespace, infer.name) in on_it
        for workload, pod in going.items():
            if workload != "infer":
                wait_until(
                    lambda pod=pod: not is_there(cluster, pod),  # type: ignore[misc]
                    what=f"{pod.ref} to be evicted",
                    deadline_s=IN_S,
                )
        assert is_there(cluster, infer)
        cluster.kubectl("delete", "pdb", "infer", "--namespace=team-a")
        wait_until(
            lambda: not is_there(cluster, infer), what="infer to be evicted", deadline_s=IN_S
        )
        for workload, why in (
            ("collect", "its DaemonSet would start it again"),
            ("static", "it is a static pod"),
            ("twin", "no controller would start it again"),
        ):
            wait_until(
                lambda pod=staying[workload]: "LeftOnUnfitGpu" in events(cluster, pod),  # type: ignore[misc]
                what=f"{workload} to be left alone",
                deadline_s=IN_S,
            )
            assert why in events(cluster, staying[workload])["LeftOnUnfitGpu"]
        assert all(is_there(cluster, pod) for pod in (*staying.values(), *elsewhere))
    finally:
        cluster.kubectl("delete", "pdb", "infer", "--namespace=team-a", "--ignore-not-found")
        said = gpupods(cluster, "gpu", "restore", node.name, str(GPU), "--reason", "test is over")
    assert said.code == 0, said.stderr
    assert UNHEALTHY not in cluster.api.get(f"/api/v1/nodes/{node.name}")["metadata"].get(
        "annotations", {}
    )
    assert NAMESPACE not in {pod.namespace for pod in going.values()}


def test_an_excluded_gpu_is_left_to_those_who_are_on_it(
    evicting: Product, pods: list[BedPod]
) -> None:
    cluster = evicting.cluster
    words = ("gpu-2", str(GPU), "--reason", "a test")
    said = gpupods(cluster, "gpu", "exclude", *words, "--for", "1h")
    try:
        assert said.code == 0, said.stderr
        annotations = cluster.api.get("/api/v1/nodes/gpu-2")["metadata"]["annotations"]
        assert annotations[UNHEALTHY] == str(GPU)
        table = gpupods(cluster, "gpu", "list", "gpu-2").stdout
        assert "EXCLUDED" in table
        assert all(is_there(cluster, pod) for pod in pods)
    finally:
        assert gpupods(cluster, "gpu", "restore", *words).code == 0
