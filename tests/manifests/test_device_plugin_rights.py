"""What an agent that is a device plugin may write, on a real API server: two annotations."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, PREDICATE_TIME
from gpupods.identity import PodRef
from nodeagent.deviceplugin.pods import GPU_ASSIGNED
from simulator.kubelet import SimContainer, SimulatedKubelet
from tests.e2e.programs import Programs
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.scenario import Gpu, Scenario
from tests.manifests.admitting import AdmittingApiserver
from tests.manifests.rendering import MANIFESTS
from tests.manifests.test_report_rights import token_of_pod
from tests.manifests.test_rights import AGENT, NOBODY, rights
from tests.pluginbed import until
from tests.realparts import objects
from tests.realparts.kubeapi import ApiError, KubeApi
from tests.realparts.processes import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

OVERLAY = MANIFESTS / "overlays/volcano-share"
OWN, OTHER = "plugin-node", "plugin-other"
HERE, THERE, UNCHOSEN = "here", "there", "unchosen"
FORBIDDEN = 403
CONTAINER = {"name": "main", "image": "none", "resources": {"limits": {GPU_MEMORY: "5"}}}
ROLE = {(verb, "", "pods", "") for verb in ("get", "list", "patch")}


@dataclass(frozen=True)
class Agent:
    """The agent of the node OWN, as far as the API server knows."""

    token: str
    api: KubeApi

    def patch(self, pod: str, metadata: dict[str, Any], **more: Any) -> dict[str, Any]:
        return self.api.patch(path_of(pod), {"metadata": metadata, **more})


def path_of(pod: str) -> str:
    return f"/api/v1/namespaces/default/pods/{pod}"


def pod(name: str, node: str, index: str | None) -> dict[str, Any]:
    annotations = {"theirs": "stays"}
    if index is not None:
        annotations |= {GPU_INDEX: index, PREDICATE_TIME: "1"}
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {
            "nodeName": node,
            "containers": [CONTAINER],
            "automountServiceAccountToken": False,
        },
    }


@pytest.fixture(scope="module")
def agent(cluster: AdmittingApiserver) -> Iterator[Agent]:
    cluster.apply(OVERLAY)
    for name in (OWN, OTHER):
        cluster.api.create_node(objects.node(name, "127.0.0.1") | {"kind": "Node"})
    cluster.api.post(
        "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}
    )
    pods = (pod(HERE, OWN, "1"), pod(THERE, OTHER, "1"), pod(UNCHOSEN, OWN, None))
    for each in pods:
        cluster.api.create_pod(each)
    token = token_of_pod(cluster, OWN)
    made = Agent(token, KubeApi(cluster.url, cluster.ca, token))
    wait_until(lambda: is_refused(made), what="the API server to heed the new policy")
    yield made
    for each in pods:
        cluster.api.delete(path_of(each["metadata"]["name"]))
    for name in (OWN, OTHER):
        cluster.api.delete_node(name)
    cluster.api.delete("/api/v1/namespaces/default/serviceaccounts/default")
    cluster.kubectl("delete", "-k", str(OVERLAY), "--wait=false")
    cluster.forget_namespace()


def is_refused(agent: Agent) -> bool:
    try:
        agent.patch(THERE, {"annotations": {GPU_ASSIGNED: "true"}})
    except ApiError:
        return True
    return False


def test_it_may_mark_a_pod_of_its_own_node_and_say_which_gpu_it_has(agent: Agent) -> None:
    written = agent.patch(HERE, {"annotations": {GPU_ASSIGNED: "true", GPU_INDEX: "0"}})
    assert written["metadata"]["annotations"] == {
        "theirs": "stays",
        GPU_ASSIGNED: "true",
        GPU_INDEX: "0",
        PREDICATE_TIME: "1",
    }
    again = agent.patch(HERE, {"annotations": {GPU_ASSIGNED: None}})
    assert GPU_ASSIGNED not in again["metadata"]["annotations"]


def test_a_pod_of_another_node_is_refused(agent: Agent) -> None:
    with pytest.raises(ApiError, match="the pods of its own node alone") as refused:
        agent.patch(THERE, {"annotations": {GPU_ASSIGNED: "true"}})
    assert refused.value.status == FORBIDDEN


def test_it_gives_no_gpu_to_a_pod_that_no_scheduler_has_given_one(agent: Agent) -> None:
    with pytest.raises(ApiError, match=r"volcano.sh/gpu-index where there is one"):
        agent.patch(UNCHOSEN, {"annotations": {GPU_INDEX: "0"}})


BEYOND: dict[str, dict[str, Any]] = {
    "a foreign annotation": {"metadata": {"annotations": {"team": "ours"}}},
    "another's annotation": {"metadata": {"annotations": {"theirs": "ours"}}},
    "another's annotation away": {"metadata": {"annotations": {"theirs": None}}},
    "the index away": {"metadata": {"annotations": {GPU_INDEX: None}}},
    "when it was chosen": {"metadata": {"annotations": {PREDICATE_TIME: "2"}}},
    "a label": {"metadata": {"labels": {"app": "ours"}}},
    "a finalizer": {"metadata": {"finalizers": ["gpupods.io/mine"]}},
    "an image": {"spec": {"containers": [CONTAINER | {"image": "ours"}]}},
    "a deadline": {"spec": {"activeDeadlineSeconds": 1}},
}


@pytest.mark.parametrize("body", BEYOND.values(), ids=BEYOND.keys())
def test_it_may_change_nothing_else_of_it(body: dict[str, Any], agent: Agent) -> None:
    with pytest.raises(ApiError, match=r"a node agent may (change|write) no") as refused:
        agent.api.patch(path_of(HERE), body)
    assert refused.value.status == FORBIDDEN


def test_it_is_all_that_it_may(agent: Agent, cluster: AdmittingApiserver) -> None:
    here = rights(cluster, AGENT, "default") - rights(cluster, NOBODY, "default")
    assert {right for right in here if "pods" in right[2]} == ROLE


async def test_the_agent_serves_a_kubelet_with_these_rights(
    agent: Agent, cluster: AdmittingApiserver, tmp_path: Path
) -> None:
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": agent.token}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    driver = FakeDriver(tmp_path / "driver", Scenario((Gpu.number(0), Gpu.number(1))))
    folder = Path(tempfile.mkdtemp(prefix="gp-"))
    kubelet = SimulatedKubelet(folder, folder / "pod-resources.sock")
    flags = (
        *("--device-plugin=volcano-share", "--device-plugin-memory-unit=1024"),
        *(
            f"--kubelet-plugins-dir={folder}",
            f"--kubelet-pod-resources={folder}/pod-resources.sock",
        ),
        *(f"--node-name={OWN}", f"--kubeconfig={kubeconfig}", f"--state-dir={tmp_path / 'state'}"),
        *("--runtime-socket=", "--kernel-log=", "--grpc-listen=127.0.0.1:0"),
    )
    await kubelet.start()
    try:
        with Programs() as programs:
            await asyncio.to_thread(programs.agent, *flags, env=driver.environment({}))
            await until(lambda: kubelet.allocatable.get(GPU_MEMORY) == 2 * 80)
            given = await kubelet.run_pod(
                PodRef("default", HERE), [SimContainer("main", {GPU_MEMORY: 5})]
            )
            said = cluster.api.get(path_of(HERE))["metadata"]["annotations"]
            expected = driver.scenario.gpus[int(said[GPU_INDEX])].uuid
            assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == expected
            assert said[GPU_ASSIGNED] == "true"
    finally:
        await kubelet.stop()
        shutil.rmtree(folder)
