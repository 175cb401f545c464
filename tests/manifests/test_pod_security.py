"""Pod security: the controller would be admitted as restricted, the agent only as privileged.

And for no other reasons than those that manifests/base/namespace.yaml names.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.manifests.rendering import (
    NAMESPACE,
    kustomize,
    objects,
    one,
    pod_template,
    variants,
)
from tests.realparts.processes import PartFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.manifests.admitting import AdmittingApiserver
    from tests.realparts.objects import Json

pytestmark = pytest.mark.e2e

KINDS = {"controller": "Deployment", "nodeagent": "DaemonSet"}
ENFORCED = "restricted", "baseline"
BASE = variants()[0].folder


@pytest.fixture(scope="module")
def guarded(cluster: AdmittingApiserver) -> Iterator[AdmittingApiserver]:
    """The base is installed, and there is a namespace for each stricter level."""
    cluster.apply(BASE)
    for level in ENFORCED:
        cluster.kubectl("create", "namespace", level)
        label = f"pod-security.kubernetes.io/enforce={level}"
        cluster.kubectl("label", "namespace", level, label)
        for part in KINDS:
            cluster.kubectl("create", "serviceaccount", f"gpupods-{part}", f"--namespace={level}")
    yield cluster
    cluster.kubectl("delete", "-k", str(BASE), "--wait=false")
    for namespace in (NAMESPACE, *ENFORCED):
        cluster.kubectl("delete", "serviceaccounts", "--all", "-n", namespace, "--wait=false")
        cluster.forget_namespace(namespace)


def pod(part: str, namespace: str) -> Json:
    """The pod that the part's workload would make."""
    template = pod_template(one(objects(kustomize(BASE)), KINDS[part], f"gpupods-{part}"))
    metadata = {**template["metadata"], "name": part, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def admit(server: AdmittingApiserver, made: Json) -> str:
    return server.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(made))


def test_the_namespace_s_labels_let_both_in(guarded: AdmittingApiserver) -> None:
    for part in KINDS:
        assert admit(guarded, pod(part, NAMESPACE)) == f"pod/{part} created (server dry run)\n"


def test_the_controller_would_be_let_in_as_restricted(guarded: AdmittingApiserver) -> None:
    assert admit(guarded, pod("controller", "restricted"))


def test_the_agent_is_more_than_baseline_for_four_reasons(guarded: AdmittingApiserver) -> None:
    with pytest.raises(PartFailedError, match='violates PodSecurity "baseline') as refused:
        admit(guarded, pod("nodeagent", "baseline"))
    found = re.search(r'violates PodSecurity "baseline:latest": (.*)', str(refused.value))
    assert found is not None
    reasons = re.sub(r" \([^()]*\)", "", found[1]).strip().split(", ")
    assert sorted(reasons) == ["host namespaces", "hostPath volumes", "hostPort", "seLinuxOptions"]
