"""kustomize and Helm describe one installation: the same objects, to the last field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.manifests.helm import CHART, values_flags
from tests.manifests.rendering import Variant, by_identity, kustomize, objects, variants

if TYPE_CHECKING:
    from tests.manifests.helm import Helm

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("variant", variants(), ids=lambda variant: variant.name)
def test_an_overlay_and_its_values_mean_the_same(variant: Variant, helm: Helm) -> None:
    by_helm = helm.template("--set", "namespace.create=true", *values_flags(*variant.values))
    ours, theirs = objects(kustomize(variant.folder)), objects(by_helm)
    assert by_identity(theirs) == by_identity(ours)


def test_every_overlay_differs_from_the_base() -> None:
    rendered = {variant.name: kustomize(variant.folder) for variant in variants()}
    same = {name for name, text in rendered.items() if name != "base" and text == rendered["base"]}
    assert len(rendered) > 1
    assert not same


def test_helms_namespace_is_the_release_s(helm: Helm) -> None:
    rendered = objects(helm.run("template", "x", str(CHART), "--namespace=elsewhere"))
    named = {each["metadata"].get("namespace") for each in rendered}
    assert named == {None, "elsewhere"}
    bindings = [each for each in rendered if each["kind"].endswith("RoleBinding")]
    subjects = {subject["namespace"] for each in bindings for subject in each["subjects"]}
    assert subjects == {"elsewhere"}
