"""What the controller may do where it is an extender, on a real API server: bind, and no more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.manifests.admitting import AdmittingApiserver
from tests.manifests.rendering import MANIFESTS, NAMESPACE
from tests.manifests.test_rights import CONTROLLER, FOLLOW, LEAD, NOBODY, rights

pytestmark = pytest.mark.e2e

OVERLAY = MANIFESTS / "overlays/scheduler-extender"
BIND = {("create", "", "pods/binding", "")}
FIND_THE_LEADER = {("get", "", "pods", "")}


@pytest.fixture(scope="module")
def installed(cluster: AdmittingApiserver) -> Iterator[AdmittingApiserver]:
    cluster.apply(OVERLAY)
    yield cluster
    cluster.kubectl("delete", "-k", str(OVERLAY), "--wait=false")
    cluster.forget_namespace()


def test_it_binds_anywhere_and_changes_no_pod_otherwise(installed: AdmittingApiserver) -> None:
    for namespace in ("default", "kube-system"):
        without = rights(installed, NOBODY, namespace)
        assert rights(installed, CONTROLLER, namespace) - without == FOLLOW | BIND


def test_in_its_own_namespace_it_finds_the_leader(installed: AdmittingApiserver) -> None:
    without = rights(installed, NOBODY, NAMESPACE)
    here = rights(installed, CONTROLLER, NAMESPACE) - without
    assert here == FOLLOW | BIND | LEAD | FIND_THE_LEADER
