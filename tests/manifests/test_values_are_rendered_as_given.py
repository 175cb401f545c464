"""What is written in a values file arrives as it was written, whatever YAML would make of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.manifests.rendering import objects, one, pod_template

if TYPE_CHECKING:
    from pathlib import Path

    from tests.manifests.helm import Helm

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("written", "arrives"),
    [
        (1000000, "1000000"),
        (12345678901, "12345678901"),
        (0.5, "0.5"),
        (0, "0"),
        (True, "true"),
        ("", ""),
        ("a: b # c", "a: b # c"),
        ('say "x"', 'say "x"'),
        ("007", "007"),
    ],
)
@pytest.mark.parametrize("part", ["controller", "nodeagent"])
def test_a_setting(written: object, arrives: str, part: str, helm: Helm, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(json.dumps({part: {"env": {"SETTING": written}}}))
    kind = {"controller": "Deployment", "nodeagent": "DaemonSet"}[part]
    rendered = objects(helm.template(f"--values={values}"))
    pod = pod_template(one(rendered, kind, f"gpupods-{part}"))["spec"]
    (found,) = [each for each in pod["containers"][0]["env"] if each["name"] == "SETTING"]
    assert found["value"] == arrives


def test_names_and_folders_that_yaml_would_take_for_something_else(
    helm: Helm, tmp_path: Path
) -> None:
    values = tmp_path / "values.yaml"
    agent = {
        "runtimeClassName": "true",
        "containerdFolder": "/run/a: b",
        "stateFolder": "/var/a #b",
        "kubeletFolder": "/var/lib/k: d",
        "devicePlugin": "volcano-share",
        "image": {"repository": "null", "tag": "1.10"},
    }
    values.write_text(json.dumps({"priorityClass": {"name": "123"}, "nodeagent": agent}))
    rendered = objects(helm.template(f"--values={values}"))
    assert one(rendered, "PriorityClass", "123")["value"] == 1000000
    pod = pod_template(one(rendered, "DaemonSet", "gpupods-nodeagent"))["spec"]
    assert (pod["priorityClassName"], pod["runtimeClassName"]) == ("123", "true")
    assert pod["containers"][0]["image"] == "null:1.10"
    assert [volume["hostPath"]["path"] for volume in pod["volumes"]] == [
        "/run/a: b",
        "/var/a #b",
        "/var/lib/k: d/device-plugins",
        "/var/lib/k: d/pod-resources",
    ]
