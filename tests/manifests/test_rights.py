"""What the service accounts may do, and that it is all they may do: RBAC of a real API server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.programs import Programs
from tests.manifests.rendering import NAMESPACE, variants
from tests.realparts.processes import PartFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.manifests.admitting import AdmittingApiserver

pytestmark = pytest.mark.e2e

CONTROLLER = f"system:serviceaccount:{NAMESPACE}:gpupods-controller"
AGENT = f"system:serviceaccount:{NAMESPACE}:gpupods-nodeagent"
NOBODY = f"system:serviceaccount:{NAMESPACE}:somebody-with-no-binding"

Right = tuple[str, str, str, str]
"""Verb, API group, resource, and the one name it is for, or ""."""


@pytest.fixture(scope="module")
def installed(cluster: AdmittingApiserver) -> Iterator[AdmittingApiserver]:
    base = variants()[0].folder
    cluster.apply(base)
    yield cluster
    cluster.kubectl("delete", "-k", str(base), "--wait=false")
    cluster.forget_namespace()


def rights(server: AdmittingApiserver, account: str, namespace: str) -> set[Right]:
    """What the server says `account` may do to resources in `namespace`."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    words = ("create", "-f", "-", "-o", "json", "--validate=false", f"--as={account}")
    status = json.loads(server.kubectl(*words, stdin=json.dumps(review)))["status"]
    assert not status["incomplete"]
    return {right for rule in status["resourceRules"] for right in _each(rule)}


def _each(rule: dict[str, Any]) -> Iterator[Right]:
    for verb in rule["verbs"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for name in rule.get("resourceNames") or [""]:
                    yield verb, group, resource, name


FOLLOW = {(verb, "", kind, "") for verb in ("list", "watch") for kind in ("pods", "nodes")}
LEAD = {
    ("create", "coordination.k8s.io", "leases", ""),
    ("get", "coordination.k8s.io", "leases", "gpupods-controller"),
    ("update", "coordination.k8s.io", "leases", "gpupods-controller"),
}


def test_the_controller_follows_pods_and_nodes_and_holds_its_lease(
    installed: AdmittingApiserver,
) -> None:
    without = rights(installed, NOBODY, NAMESPACE)
    assert rights(installed, CONTROLLER, NAMESPACE) - without == FOLLOW | LEAD


def test_elsewhere_the_controller_follows_and_nothing_more(installed: AdmittingApiserver) -> None:
    for namespace in ("default", "kube-system"):
        without = rights(installed, NOBODY, namespace)
        assert rights(installed, CONTROLLER, namespace) - without == FOLLOW


def test_the_agent_may_do_no_more_than_an_account_with_no_binding(
    installed: AdmittingApiserver,
) -> None:
    for namespace in (NAMESPACE, "default"):
        without = rights(installed, NOBODY, namespace)
        assert rights(installed, AGENT, namespace) == without


# Verb, API group, resource: what would hurt most, and what is near to what they may.
MAY_NOT = (
    ("get", "", "secrets"),
    ("list", "", "configmaps"),
    ("get", "", "pods"),
    ("create", "", "pods"),
    ("delete", "", "pods"),
    ("create", "", "pods/exec"),
    ("get", "", "pods/log"),
    ("patch", "", "nodes"),
    ("update", "", "nodes/status"),
    ("get", "", "nodes/proxy"),
    ("create", "", "serviceaccounts/token"),
    ("impersonate", "", "users"),
    ("list", "coordination.k8s.io", "leases"),
    ("delete", "coordination.k8s.io", "leases"),
    ("update", "coordination.k8s.io", "leases"),
    ("create", "authentication.k8s.io", "tokenreviews"),
    ("bind", "rbac.authorization.k8s.io", "clusterroles"),
)


@pytest.mark.parametrize("account", [CONTROLLER, AGENT], ids=["controller", "nodeagent"])
def test_what_the_accounts_may_not(account: str, installed: AdmittingApiserver) -> None:
    allowed = [each for each in MAY_NOT if _allowed(installed, account, *each)]
    assert allowed == []


def _allowed(
    server: AdmittingApiserver, account: str, verb: str, group: str, resource: str
) -> bool:
    kind, _, subresource = resource.partition("/")
    attributes = {
        "namespace": NAMESPACE,
        "verb": verb,
        "group": group,
        "resource": kind,
        "subresource": subresource,
    }
    spec = {"user": account, "resourceAttributes": attributes}
    answer = server.api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
    allowed: bool = answer["status"]["allowed"]
    return allowed


def test_kubectl_says_the_same(installed: AdmittingApiserver) -> None:
    words = ("auth", "can-i", f"--as={CONTROLLER}", "list")
    assert installed.kubectl(*words, "pods", "--all-namespaces") == "yes\n"
    with pytest.raises(PartFailedError):  # "no" is exit code 1
        installed.kubectl(*words, "secrets", "--all-namespaces")


def test_the_agent_cannot_even_list_pods(installed: AdmittingApiserver) -> None:
    with pytest.raises(PartFailedError, match="Forbidden"):
        installed.kubectl("get", "pods", "-A", f"--as={AGENT}")


def test_a_user_of_the_command_reaches_the_controller_and_nothing_more(
    installed: AdmittingApiserver,
) -> None:
    words = ("--role=gpupods-user", "--user=ada", f"--namespace={NAMESPACE}")
    installed.kubectl("create", "rolebinding", "ada", *words)
    try:
        here = rights(installed, "ada", NAMESPACE) - rights(installed, "bob", NAMESPACE)
        elsewhere = rights(installed, "ada", "default") - rights(installed, "bob", "default")
    finally:
        installed.kubectl("delete", "rolebinding", "ada", f"--namespace={NAMESPACE}")
    assert here == {
        ("list", "", "pods", ""),
        ("get", "", "pods/portforward", ""),
        ("create", "", "pods/portforward", ""),
    }
    assert not elsewhere


def test_the_controller_runs_with_its_own_rights(
    installed: AdmittingApiserver, tmp_path: Path
) -> None:
    words = ("create", "token", "gpupods-controller", f"--namespace={NAMESPACE}")
    config = json.loads(installed.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": installed.kubectl(*words).strip()}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    flags = (
        "--leader-elect",
        "--kubeconfig",
        str(kubeconfig),
        "--grpc-listen=127.0.0.1:0",
        "--http-listen=127.0.0.1:0",
    )
    with Programs() as programs:
        controller = programs.controller(*flags)
        assert controller.logged("ready")
        controller.stop()
        assert "forbidden" not in controller.log().lower()
    installed.kubectl("delete", "lease", "gpupods-controller", f"--namespace={NAMESPACE}")
