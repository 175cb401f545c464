"""What the controller may do where it evicts pods, on a real API server: no more than that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.manifests.admitting import AdmittingApiserver
from tests.manifests.rendering import MANIFESTS, NAMESPACE
from tests.manifests.test_rights import CONTROLLER, FOLLOW, NOBODY, rights

pytestmark = pytest.mark.e2e

OVERLAY = MANIFESTS / "overlays/eviction"
EVICT = {
    ("get", "", "pods", ""),
    ("create", "", "pods/eviction", ""),
    ("create", "", "events", ""),
}


@pytest.fixture(scope="module")
def installed(cluster: AdmittingApiserver) -> Iterator[AdmittingApiserver]:
    cluster.apply(OVERLAY)
    yield cluster
    cluster.kubectl("delete", "-k", str(OVERLAY), "--wait=false")
    cluster.forget_namespace()


def test_it_evicts_anywhere_and_deletes_nowhere(installed: AdmittingApiserver) -> None:
    for namespace in ("default", "kube-system"):
        without = rights(installed, NOBODY, namespace)
        assert rights(installed, CONTROLLER, namespace) - without == FOLLOW | EVICT
    here = rights(installed, CONTROLLER, NAMESPACE)
    assert not {right for right in here if right[0] == "delete"}
