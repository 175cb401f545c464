"""Components are to be combined: in any order, and on top of any overlay."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.manifests.helm import values_flags
from tests.manifests.rendering import (
    MANIFESTS,
    Variant,
    by_identity,
    kustomize,
    objects,
    one,
    pod_template,
    variants,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.manifests.helm import Helm
    from tests.realparts.objects import Json

COMPONENTS = sorted(path.parent for path in MANIFESTS.glob("components/*/kustomization.yaml"))
OF_ONE_COMPONENT = (
    "eviction", "health-reporting", "host-network", "kernel-log", "mig", "nvidia-runtime-class",
    "scheduler-extender", "volcano-share",
)  # fmt: skip
"""Overlays that together have every component."""
BY_NAME = ("env", "volumes", "volumeMounts")
"""Lists whose order is the components', and means nothing."""


def combined(folder: Path, base: Path, components: Sequence[Path]) -> list[Json]:
    """What kustomize makes of ``base`` with these components, in their order."""
    folder.mkdir()
    told = {"resources": [base], "components": components}
    relative = {key: [os.path.relpath(path, folder) for path in told[key]] for key in told}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(relative))
    return objects(kustomize(folder))


def sorted_lists(value: Any) -> Any:
    """``value`` with the lists of `BY_NAME` in the order of their names."""
    if isinstance(value, list):
        return [sorted_lists(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: sorted(each, key=lambda one: str(one["name"]))
        if key in BY_NAME
        else sorted_lists(each)
        for key, each in value.items()
    }


def lacking(variant: Variant) -> list[Path]:
    """The components that an overlay does not have."""
    has = yaml.safe_load((variant.folder / "kustomization.yaml").read_text()).get("components", ())
    return [each for each in COMPONENTS if f"../../components/{each.name}" not in has]


@pytest.mark.parametrize("variant", variants(), ids=lambda variant: variant.name)
def test_all_the_others_on_top_of_an_overlay_in_either_order(
    variant: Variant, tmp_path: Path
) -> None:
    others = lacking(variant)
    forwards = combined(tmp_path / "forwards", variant.folder, others)
    backwards = combined(tmp_path / "backwards", variant.folder, others[::-1])
    pods = [
        pod_template(one(each, "DaemonSet", "gpupods-nodeagent"))["spec"]
        for each in (forwards, backwards)
    ]
    for pod in pods:
        assert pod["securityContext"]["runAsUser"] == 0
        assert "runAsNonRoot" not in pod["securityContext"]
        assert pod["containers"][0]["securityContext"].pop("privileged") is True
        # Without a meaning where the container is privileged.
        pod["containers"][0]["securityContext"].pop("capabilities", None)
    assert sorted_lists(by_identity(forwards)) == sorted_lists(by_identity(backwards))


@pytest.mark.e2e
def test_all_of_them_mean_the_same_to_helm(tmp_path: Path, helm: Helm) -> None:
    overlays = [MANIFESTS / "overlays" / name for name in OF_ONE_COMPONENT]
    values = values_flags(*(each / "values.yaml" for each in overlays))
    by_helm = objects(helm.template("--set", "namespace.create=true", *values))
    ours = combined(tmp_path / "all", MANIFESTS / "base", COMPONENTS[::-1])
    assert sorted_lists(by_identity(by_helm)) == sorted_lists(by_identity(ours))
