"""Every command of docs/install.md is run, in its order, as it stands there.

There is an API server and no kubelet: what the page waits for is reported here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from tests.docs.pages import ROOT, page
from tests.manifests.rendering import MANIFESTS, NAMESPACE, kubectl
from tests.realparts import objects

if TYPE_CHECKING:
    from pathlib import Path

    from tests.manifests.admitting import AdmittingApiserver
    from tests.realparts.objects import Json

pytestmark = pytest.mark.e2e

_TIMEOUT_S: Final = 120
_WORKLOADS: Final = ("deployments/gpupods-controller", "daemonsets/gpupods-nodeagent")


class Shell:
    """A shell in a copy of the checkout, with kubectl and helm."""

    def __init__(self, folder: Path, helm: Path, cluster: AdmittingApiserver) -> None:
        self._folder, self._cluster = folder, cluster
        shutil.copytree(MANIFESTS, folder / "manifests")
        programs = folder / "bin"
        programs.mkdir()
        (programs / "helm").symlink_to(helm)
        (programs / "kubectl").symlink_to(kubectl())
        self._environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "KUBECONFIG": str(cluster.kubeconfig),
        }

    def run(self, block: str) -> str:
        """What a block prints; it has to succeed."""
        if "rollout status" in block:
            self._report()
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        return done.stdout

    def _report(self) -> None:
        """Report what the controllers of a cluster would once all pods are ready."""
        for path in _WORKLOADS:
            full = f"/apis/apps/v1/namespaces/{NAMESPACE}/{path}"
            found = self._cluster.api.get(full)
            self._cluster.api.patch(f"{full}/status", {"status": _rolled_out(found)})


def _rolled_out(workload: Json) -> Json:
    generation = {"observedGeneration": workload["metadata"]["generation"]}
    if workload["kind"] == "DaemonSet":
        names = ("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled")
        zero = {"numberMisscheduled": 0}
        counted = {**zero, **dict.fromkeys((*names, "numberReady", "numberAvailable"), 3)}
        return {**generation, **counted}
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 2)
    return {**generation, **counts}


def blocks() -> list[str]:
    return [block.text for block in page("docs/install.md").blocks() if block.language == "sh"]


def test_every_command_of_the_page_does_what_the_page_says(
    cluster: AdmittingApiserver, helm_program: Path, tmp_path: Path
) -> None:
    before = cluster.everything()
    cluster.api.create_node(objects.node("gpu-node-1", "10.0.0.1"))
    shell = Shell(tmp_path, helm_program, cluster)
    # The page installs in two ways: kustomize's installation gives way to Helm's.
    by_kustomize = sorted((each for each in blocks() if "my-cluster" in each), key=_phase)
    others = sorted((each for each in blocks() if each not in by_kustomize), key=_phase)
    printed = [shell.run(_without_waiting(each)) for each in by_kustomize]
    assert "daemonset.apps/gpupods-nodeagent created" in printed[0]
    assert 'daemonset.apps "gpupods-nodeagent" deleted' in printed[-1]
    cluster.forget_namespace()
    for block in others:
        if "uninstall" in block:  # what no namespace controller takes away
            cluster.kubectl("delete", "rolebinding", "ada", f"--namespace={NAMESPACE}")
        shell.run(_without_waiting(block))
        if "delete namespace" in block:
            cluster.forget_namespace()
    cluster.api.delete_node("gpu-node-1")
    cluster.forget_namespace()
    assert cluster.everything() == before


def _phase(block: str) -> int:
    """The page's own order, but what takes away comes last, and a namespace is made after that."""
    ends = ("delete -k", "uninstall", "gpupods.io/gpu-\n", "base/namespace.yaml")
    return next((number for number, words in enumerate(ends, 1) if words in block), 0)


def _without_waiting(block: str) -> str:
    """No controller ends a namespace here, so that waiting for its end would not end."""
    return block.replace("kubectl delete", "kubectl delete --wait=false")


def test_the_page_names_every_overlay() -> None:
    text = page("docs/install.md").text
    overlays = [path.name for path in (MANIFESTS / "overlays").iterdir()]
    assert overlays
    missing = [name for name in overlays if f"manifests/overlays/{name}`" not in text]
    assert missing == []
    assert (ROOT / "manifests" / "README.md").is_file()
