"""What an agent that reports may write, on a real API server: its own Node, and little of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpupods.kube.api import STRATEGIC_MERGE
from gpupods.node_annotations import HEALTH, OVERRIDES, UNHEALTHY_IDS
from tests.e2e.programs import Programs
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.faults import Event
from tests.fakedriver.scenario import Gpu, Scenario
from tests.manifests.admitting import AdmittingApiserver
from tests.manifests.rendering import MANIFESTS, NAMESPACE
from tests.manifests.test_rights import AGENT, NOBODY, rights
from tests.realparts import objects
from tests.realparts.kubeapi import ApiError, KubeApi, node_path
from tests.realparts.processes import PartFailedError, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

OVERLAY = MANIFESTS / "overlays/health-reporting"
OWN, OTHER = "reporting-node", "other-node"
FORBIDDEN = 403


@dataclass(frozen=True)
class Agent:
    """An agent's pod on the node OWN, as far as the API server knows: its token."""

    token: str
    api: KubeApi

    def patch_status(self, node: str, body: dict[str, Any]) -> dict[str, Any]:
        return self.api._send("PATCH", f"{node_path(node)}/status", body, STRATEGIC_MERGE)


@pytest.fixture(scope="module")
def agent(cluster: AdmittingApiserver) -> Iterator[Agent]:
    cluster.apply(OVERLAY)
    for name in (OWN, OTHER):
        cluster.api.create_node(objects.node(name, "127.0.0.1") | {"kind": "Node"})
    token = token_of_pod(cluster, OWN)
    made = Agent(token, KubeApi(cluster.url, cluster.ca, token))
    wait_until(lambda: is_refused(made), what="the API server to heed the new policy")
    yield made
    for name in (OWN, OTHER):
        cluster.api.delete_node(name)
    cluster.kubectl("delete", "-k", str(OVERLAY), "--wait=false")
    cluster.forget_namespace()


def is_refused(agent: Agent) -> bool:
    try:
        agent.patch_status(OTHER, {"metadata": {"annotations": {HEALTH: "[]"}}})
    except ApiError:
        return True
    return False


def token_of_pod(cluster: AdmittingApiserver, node: str) -> str:
    """What the kubelet of ``node`` would mount for an agent's pod there."""
    name = f"agent-of-{node}"
    container = {"name": "nodeagent", "image": "none"}
    pod = {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "nodeName": node,
            "serviceAccountName": "gpupods-nodeagent",
            "containers": [container],
        },
    }
    uid = cluster.api.create_pod(pod)["metadata"]["uid"]
    bound = {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": uid}
    return asked_token(cluster, {"boundObjectRef": bound})


def asked_token(cluster: AdmittingApiserver, spec: dict[str, Any]) -> str:
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/gpupods-nodeagent/token"
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    token: str = cluster.api.post(path, review)["status"]["token"]
    return token


REPORT = {
    "metadata": {"annotations": {UNHEALTHY_IDS: "0", HEALTH: "[]"}},
    "status": {"conditions": [{"type": "GpuUnfit", "status": "True", "reason": "Tried"}]},
}


def test_it_may_report_on_its_own_node(agent: Agent, cluster: AdmittingApiserver) -> None:
    written = agent.patch_status(OWN, REPORT)
    assert written["metadata"]["annotations"][UNHEALTHY_IDS] == "0"
    again = agent.patch_status(OWN, {"metadata": {"annotations": {UNHEALTHY_IDS: None}}})
    assert UNHEALTHY_IDS not in again["metadata"]["annotations"]
    conditions = {each["type"]: each["status"] for each in again["status"]["conditions"]}
    assert conditions == {"GpuUnfit": "True", "Ready": "True"}


def test_another_node_is_refused(agent: Agent) -> None:
    with pytest.raises(ApiError, match="a node agent may write to its own Node alone") as refused:
        agent.patch_status(OTHER, REPORT)
    assert refused.value.status == FORBIDDEN


BEYOND = {
    "a foreign annotation": {"metadata": {"annotations": {"volcano.sh/gpu-memory": "1"}}},
    "an operator's word": {"metadata": {"annotations": {OVERRIDES: "{}"}}},
    "a label": {"metadata": {"labels": {"gpupods.io/gpu": "false"}}},
    "a finalizer": {"metadata": {"finalizers": ["gpupods.io/mine"]}},
    "capacity": {"status": {"capacity": {"volcano.sh/gpu-number": "99"}}},
    "allocatable": {"status": {"allocatable": {"cpu": "99"}}},
    "another condition": {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
    "an address": {"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}},
    "what the node is": {"status": {"nodeInfo": {"kubeletVersion": "v0"}}},
    "an image": {"status": {"images": [{"names": ["evil"], "sizeBytes": 1}]}},
}


@pytest.mark.parametrize("body", BEYOND.values(), ids=BEYOND.keys())
def test_it_may_change_nothing_else_of_it(body: dict[str, Any], agent: Agent) -> None:
    with pytest.raises(ApiError, match="a node agent may change no") as refused:
        agent.patch_status(OWN, body)
    assert refused.value.status == FORBIDDEN


def test_it_may_not_take_anothers_annotation_away(
    agent: Agent, cluster: AdmittingApiserver
) -> None:
    cluster.api.patch(node_path(OWN), {"metadata": {"annotations": {OVERRIDES: "{}"}}})
    with pytest.raises(ApiError, match="no annotations but those of GPU health"):
        agent.patch_status(OWN, {"metadata": {"annotations": {OVERRIDES: None}}})
    assert agent.patch_status(OWN, REPORT), "and what is there does not stand in its way"


def test_a_token_that_names_no_node_writes_nothing(
    agent: Agent, cluster: AdmittingApiserver
) -> None:
    free = KubeApi(cluster.url, cluster.ca, asked_token(cluster, {}))
    with pytest.raises(ApiError, match="names no node") as refused:
        Agent("", free).patch_status(OWN, REPORT)
    assert refused.value.status == FORBIDDEN


def event(**parts: Any) -> dict[str, Any]:
    return {
        "metadata": {"generateName": "tried-", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": OWN},
        "reason": "Tried",
        "source": {"component": "gpupods-nodeagent", "host": OWN},
        "reportingComponent": "gpupods-nodeagent",
    } | parts


POD = {"kind": "Pod", "namespace": "default", "name": "anybodys"}
EVENTS_BEYOND: dict[str, tuple[dict[str, Any], str]] = {
    "of another node": (
        event(source={"component": "gpupods-nodeagent", "host": OTHER}),
        "come from its own node alone",
    ),
    "of nowhere": (event(source={}), "come from its own node alone"),
    "in the kubelet's name": (
        event(source={"component": "kubelet", "host": OWN}),
        "under its own name",
    ),
    "reported by another": (event(reportingComponent="kubelet"), "under its own name"),
    "on another Node": (
        event(involvedObject={"kind": "Node", "name": OTHER}),
        "on pods and on its own Node alone",
    ),
    "on something else": (
        event(involvedObject={"kind": "Namespace", "name": "default"}),
        "on pods and on its own Node alone",
    ),
    "on nothing": (event(involvedObject={}), "on pods and on its own Node alone"),
}


@pytest.mark.parametrize("body", [event(), event(involvedObject=POD)], ids=["Node", "Pod"])
def test_events_on_its_own_node_and_on_pods(body: dict[str, Any], agent: Agent) -> None:
    assert agent.api.post("/api/v1/namespaces/default/events", body)


@pytest.mark.parametrize(("body", "why"), EVENTS_BEYOND.values(), ids=EVENTS_BEYOND.keys())
def test_other_events_are_refused(body: dict[str, Any], why: str, agent: Agent) -> None:
    with pytest.raises(ApiError, match=why) as refused:
        agent.api.post("/api/v1/namespaces/default/events", body)
    assert refused.value.status == FORBIDDEN


def test_what_a_status_does_not_have_is_not_written_by_its_way(
    agent: Agent, cluster: AdmittingApiserver
) -> None:
    """The API server itself drops it; if it ever did not, this tells."""
    before = cluster.api.get(node_path(OWN))["spec"]
    taint = {"key": "ours", "effect": "NoExecute"}
    agent.patch_status(OWN, REPORT | {"spec": {"unschedulable": True, "taints": [taint]}})
    assert cluster.api.get(node_path(OWN))["spec"] == before


def test_it_is_all_that_it_may(agent: Agent, cluster: AdmittingApiserver) -> None:
    for namespace in (NAMESPACE, "default"):
        without = rights(cluster, NOBODY, namespace)
        assert rights(cluster, AGENT, namespace) - without == {
            ("list", "", "nodes", ""),
            ("watch", "", "nodes", ""),
            ("patch", "", "nodes/status", ""),
            ("create", "", "events", ""),
        }


def test_others_are_not_held_by_the_policy(cluster: AdmittingApiserver, agent: Agent) -> None:
    cluster.api.patch(f"{node_path(OTHER)}/status", {"status": {"capacity": {"cpu": "4"}}})
    with pytest.raises(PartFailedError, match="Forbidden"):
        cluster.kubectl("label", "node", OWN, "a=b", f"--as={AGENT}")


def test_the_agent_reports_with_these_rights(
    agent: Agent, cluster: AdmittingApiserver, tmp_path: Path
) -> None:
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": agent.token}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    driver = FakeDriver(tmp_path / "driver", Scenario((Gpu.number(0), Gpu.number(1))))
    flags = ("--report", "--node-name", OWN, "--kubeconfig", str(kubeconfig))
    edges = ("--runtime-socket=", "--kernel-log=", "--grpc-listen=127.0.0.1:0")
    with Programs() as programs:
        started = programs.agent(*flags, *edges, env=driver.environment({}))
        wait_until(
            lambda: bool(driver.count("nvmlEventSetWait_v2").started), what="a watch for events"
        )
        driver.post(Event.xid(driver.scenario.gpus[1].uuid, 142))
        wait_until(lambda: ids(cluster) == "1", what="the annotation")
        wait_until(lambda: events(cluster) == ["GpuUnfit"], what="an event")
        assert "orbidden" not in started.log()


def ids(cluster: AdmittingApiserver) -> str | None:
    metadata = cluster.api.get(node_path(OWN))["metadata"]
    value: str | None = metadata.get("annotations", {}).get(UNHEALTHY_IDS)
    return value


def events(cluster: AdmittingApiserver) -> list[str]:
    listed = cluster.api.get("/api/v1/namespaces/default/events")["items"]
    return [each["reason"] for each in listed if each["reason"] != "Tried"]
