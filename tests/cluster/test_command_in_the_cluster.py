"""The command as its users run it: by port-forward through a kubelet, and in an agent's pod."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.cluster.cluster import Cluster
from tests.cluster.product import NAMESPACE, Product
from tests.cluster.testbed import BedPod, Testbed
from tests.e2e.comparing import assert_is
from tests.e2e.programs import run_script

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

Check = dict[str, str]


def by_kubeconfig(kubeconfig: Path, *words: str) -> tuple[int, Any]:
    """The exit code and the JSON that is printed; without an address it comes in by itself."""
    ended = run_script("gpupods", *words, "-o", "json", env={"KUBECONFIG": str(kubeconfig)})
    assert ended.stdout, ended.stderr
    return ended.code, json.loads(ended.stdout)


def failures(checks: list[Check]) -> list[Check]:
    return [check for check in checks if check["status"] == "failed"]


@pytest.fixture
def ada(cluster: Cluster, product: Product, tmp_path: Path) -> Path:
    """The kubeconfig of a person with the role for people and nothing else."""
    for words in (
        ("create", "serviceaccount", "ada", "--namespace=default"),
        (
            *("create", "rolebinding", "ada", f"--namespace={NAMESPACE}", "--role=gpupods-user"),
            "--serviceaccount=default:ada",
        ),
    ):
        made = cluster.kubectl(*words, "--dry-run=client", "-o=json")
        cluster.kubectl("apply", "-f", "-", stdin=made)
    token = cluster.kubectl("create", "token", "ada", "--namespace=default").strip()
    config = json.loads(cluster.kubectl("config", "view", "--raw", "-o=json"))
    (user,) = config["users"]
    user["user"] = {"token": token}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    return kubeconfig


def test_a_person_with_the_role_for_people_asks_by_port_forward(
    cluster: Cluster, bed: Testbed, pods: list[BedPod], ada: Path
) -> None:
    pod = pods[0]
    code, document = by_kubeconfig(ada, "get", pod.ref)
    assert code == 0
    truth = bed.truth(cluster.nodes[pod.node], pods)
    assert_is(ParseDict(document, pb.GetGpuPodsResponse()), truth)


def test_the_doctor_finds_nothing_that_has_failed(pods: list[BedPod], ada: Path) -> None:
    code, document = by_kubeconfig(ada, "doctor")
    assert failures(document["checks"]) == []
    assert code == 0
    agents = {check["subject"] for check in document["checks"] if check["name"] == "agent"}
    assert agents >= {"gpu-1", "gpu-2"}
    assert {pod.node for pod in pods} <= agents


def test_the_doctor_in_the_pod_of_each_agent(cluster: Cluster, product: Product) -> None:
    for pod in product.pods("nodeagent"):
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        words = ("exec", name, f"--namespace={NAMESPACE}", "--container=nodeagent", "--")
        printed = cluster.kubectl(*words, "gpupods", "doctor", "--agent", "-o", "json")
        checks = json.loads(printed)["checks"]
        assert failures(checks) == []
        assert {check["subject"] for check in checks} == {node}
        found = {check["name"]: check["found"] for check in checks}
        assert "cgroupfs" in found["cgroups"]
        assert "containerd" in found["runtime socket"]
