"""`kubectl apply -k` of the base and of every overlay, on a real API server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.manifests.rendering import (
    NAMESPACE,
    Variant,
    kustomize,
    objects,
    variants,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.manifests.admitting import AdmittingApiserver

pytestmark = pytest.mark.e2e

WORKLOAD_CHANGED = re.compile(
    r"^(daemonset|deployment)\.apps/gpupods-\w+ configured$", re.MULTILINE
)
CLUSTER_WIDE = (
    "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings"
)


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left(cluster: AdmittingApiserver) -> Iterator[None]:
    before = cluster.everything()
    yield
    assert cluster.everything() == before


@pytest.fixture(autouse=True)
def _removed_as_an_operator_does(cluster: AdmittingApiserver) -> Iterator[None]:
    yield
    folder = str(variants()[0].folder)
    cluster.kubectl("delete", "-k", folder, "--ignore-not-found", "--wait=false")
    # What overlays have beside the base.
    words = ("-l", "app.kubernetes.io/name=gpupods", "--wait=false")
    cluster.kubectl("delete", "roles,rolebindings", f"--namespace={NAMESPACE}", *words)
    cluster.kubectl("delete", CLUSTER_WIDE, *words)
    cluster.forget_namespace()


@pytest.mark.parametrize("variant", variants(), ids=lambda variant: variant.name)
def test_it_applies_and_applying_again_changes_nothing(
    variant: Variant, cluster: AdmittingApiserver
) -> None:
    expected = len(objects(kustomize(variant.folder)))
    first = cluster.apply(variant.folder).splitlines()
    assert [line.rsplit(" ", 1)[-1] for line in first] == ["created"] * expected
    versions = _versions(variant, cluster)
    cluster.apply(variant.folder)
    assert _versions(variant, cluster) == versions
    assert len(versions) == expected


def _versions(variant: Variant, cluster: AdmittingApiserver) -> list[str]:
    """The resourceVersion of each object. What kubectl prints is about patches, not changes."""
    template = '{range .items[*]}{.metadata.resourceVersion}{"\\n"}{end}'
    return cluster.kubectl("get", "-k", str(variant.folder), f"-o=jsonpath={template}").split()


@pytest.mark.parametrize("variant", variants(), ids=lambda variant: variant.name)
def test_the_server_knows_every_field_and_warns_of_none(
    variant: Variant, cluster: AdmittingApiserver
) -> None:
    cluster.kubectl("create", "namespace", NAMESPACE)
    words = ("--server-side", "--force-conflicts", "--dry-run=server", "--warnings-as-errors")
    lines = cluster.apply(variant.folder, *words).splitlines()
    assert lines
    assert all(line.endswith("(server dry run)") for line in lines)


def test_an_overlay_goes_over_the_base_and_back(cluster: AdmittingApiserver) -> None:
    base, *others = variants()
    cluster.apply(base.folder)
    for variant in others:
        changed = cluster.apply(variant.folder)
        assert WORKLOAD_CHANGED.search(changed)
        assert WORKLOAD_CHANGED.search(cluster.apply(base.folder))
    assert not cluster.kubectl("diff", "-k", str(base.folder))
