"""One version everywhere, and locks that pin the same: needs neither a cluster nor Helm."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.manifests.rendering import (
    MANIFESTS,
    Variant,
    kustomize,
    objects,
    one,
    pod_template,
    selects,
    variants,
)

ROOT = MANIFESTS.parent
REQUIREMENTS = ROOT / "requirements"


def package() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(lock: str) -> dict[str, str]:
    """Package -> version of a lock file."""
    text = (REQUIREMENTS / lock).read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", text, re.MULTILINE))


def test_images_and_chart_have_the_package_s_version() -> None:
    version = package()["project"]["version"]
    chart = yaml.safe_load((MANIFESTS / "chart" / "Chart.yaml").read_text())
    rendered = objects(kustomize(MANIFESTS / "base"))
    images = {
        container["image"]
        for each in rendered
        if each["kind"] in {"Deployment", "DaemonSet"}
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    labels = {each["metadata"]["labels"]["app.kubernetes.io/version"] for each in rendered}
    assert images == {
        f"localhost/gpupods-controller:{version}",
        f"localhost/gpupods-nodeagent:{version}",
    }
    assert labels == {version} == {chart["version"]} == {chart["appVersion"]}


def test_the_agent_s_lock_is_a_part_of_the_whole_one() -> None:
    agent, whole = pins("nodeagent.lock"), pins("run.lock")
    assert agent.items() < whole.items()
    assert not agent.keys() & {"kubernetes"}
    asked_for = set(
        re.findall(r"^([a-z].*)$", (REQUIREMENTS / "nodeagent.in").read_text(), re.MULTILINE)
    )
    assert asked_for <= agent.keys()


def test_the_build_is_pinned_to_what_the_tests_used() -> None:
    build, development = pins("build.lock"), pins("dev.lock")
    shared = build.keys() & development.keys()
    assert {name: build[name] for name in shared} == {name: development[name] for name in shared}
    wanted = {re.split(r"[<>=]", each)[0] for each in package()["build-system"]["requires"]}
    assert wanted <= build.keys()


@pytest.mark.parametrize("variant", variants(), ids=lambda variant: variant.name)
def test_what_selects_pods_selects_those_of_its_own_part(variant: Variant) -> None:
    rendered = objects(kustomize(variant.folder))
    parts = {
        part: pod_template(one(rendered, kind, f"gpupods-{part}"))["metadata"]["labels"]
        for part, kind in (("controller", "Deployment"), ("nodeagent", "DaemonSet"))
    }
    selectors = {
        ("Deployment", "gpupods-controller"): ("selector", "matchLabels"),
        ("Service", "gpupods-controller"): ("selector",),
        ("PodDisruptionBudget", "gpupods-controller"): ("selector", "matchLabels"),
        ("NetworkPolicy", "gpupods-controller"): ("podSelector", "matchLabels"),
        ("DaemonSet", "gpupods-nodeagent"): ("selector", "matchLabels"),
        ("NetworkPolicy", "gpupods-nodeagent"): ("podSelector", "matchLabels"),
    }
    for (kind, name), path in selectors.items():
        wanted = one(rendered, kind, name)["spec"]
        for key in path:
            wanted = wanted[key]
        meant = {f"gpupods-{part}" for part, labels in parts.items() if selects(labels, wanted)}
        assert meant == {name}, f"{kind} {name}"


def test_the_command_finds_the_controller_by_what_is_installed() -> None:
    from gpupods.cli.server_choice import NAMESPACE, PORT_NAME, SELECTOR  # noqa: PLC0415

    deployment = one(objects(kustomize(MANIFESTS / "base")), "Deployment", "gpupods-controller")
    template = pod_template(deployment)
    wanted = dict(pair.split("=") for pair in SELECTOR.split(","))
    ports = [port["name"] for port in template["spec"]["containers"][0]["ports"]]
    assert deployment["metadata"]["namespace"] == NAMESPACE
    assert selects(template["metadata"]["labels"], wanted)
    assert PORT_NAME in ports


def test_no_variable_of_kubernetes_is_taken_for_a_setting() -> None:
    rendered = objects(kustomize(MANIFESTS / "base"))
    workloads = [each for each in rendered if each["kind"] in {"Deployment", "DaemonSet"}]
    assert len(workloads) == 2
    assert all(pod_template(each)["spec"]["enableServiceLinks"] is False for each in workloads)


def test_the_readme_s_folder_is_here() -> None:
    assert Path(MANIFESTS / "README.md").is_file()
