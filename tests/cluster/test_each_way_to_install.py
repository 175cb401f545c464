"""The overlays that a cluster without NVIDIA's runtime can run, and the Helm chart: same truth."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.cluster.node import DRIVER_FOLDER
from tests.cluster.product import AGENT, NAMESPACE, Product
from tests.cluster.testbed import BedPod, Testbed, pod_on
from tests.cluster.truthful import wait_for_truth
from tests.fakedriver.driver import CALLS_VARIABLE, SCENARIO_VARIABLE
from tests.manifests import helm as helm_part
from tests.manifests.helm import Helm
from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

_BASE: Final = str(Path(__file__).parents[2] / "manifests" / "base")


@pytest.fixture
def put_back(product: Product) -> Iterator[Product]:
    """The product, which is installed from the base again afterwards."""
    yield product
    product.install()


def assert_true(product: Product, bed: Testbed, pods: list[BedPod]) -> None:
    for node in bed.cluster.gpu_nodes:
        wait_for_truth(product.grpc, pod_on(node.name, pods), partial(bed.truth, node, pods))


@pytest.mark.parametrize("overlay", ["host-network", "kernel-log", "mig"])
def test_an_overlay_is_rolled_out_and_its_answers_are_true(
    overlay: str, put_back: Product, bed: Testbed, pods: list[BedPod]
) -> None:
    put_back.install(overlay=f"overlays/{overlay}")
    assert_true(put_back, bed, pods)


def test_the_agents_open_the_kernel_s_log_only_where_they_are_told_to(
    put_back: Product, pods: list[BedPod]
) -> None:
    assert troubles(put_back) == set()
    put_back.install(overlay="overlays/kernel-log")
    assert troubles(put_back) == set()


def troubles(product: Product) -> set[str]:
    """What the agents have logged that was not as it should be."""
    said = product.cluster.kubectl(
        "logs", f"--namespace={NAMESPACE}", f"daemonset/{AGENT}", "--container=nodeagent"
    )
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return {line["event"] for line in lines if line["level"] != "info"}


def test_helm_installs_upgrades_and_leaves_nothing(
    put_back: Product, bed: Testbed, pods: list[BedPod], tmp_path: Path
) -> None:
    cluster = bed.cluster
    cluster.kubectl("delete", "-k", _BASE, "--timeout=120s")
    values = tmp_path / "values.yaml"
    values.write_text(json.dumps(driver_values()))
    helm = Helm(helm_part.ensure(), tmp_path, cluster.kubeconfig)
    helm.install(f"--values={values}")
    put_back.wait()
    assert_true(put_back, bed, pods)
    helm.upgrade("--reuse-values", "--set=nodeagent.hostPort=50061")
    put_back.wait()
    assert_true(put_back, bed, pods)
    helm.uninstall()
    wait_until(lambda: no_pods(put_back), what="the end of every pod of ours", deadline_s=120.0)
    assert remaining(cluster) == {"Lease/gpupods-controller"}


def driver_values() -> dict[str, object]:
    """Values with which the agents find their node's fake driver."""
    environment = {
        "LD_LIBRARY_PATH": f"{DRIVER_FOLDER}/lib",
        SCENARIO_VARIABLE: f"{DRIVER_FOLDER}/state/scenario",
        CALLS_VARIABLE: f"{DRIVER_FOLDER}/state/calls",
    }
    volume = {"name": "driver", "hostPath": {"path": DRIVER_FOLDER, "type": "Directory"}}
    mount = {"name": "driver", "mountPath": DRIVER_FOLDER}
    return {
        "nodeagent": {
            "env": environment,
            "extraVolumes": [volume],
            "extraVolumeMounts": [mount],
        }
    }


def no_pods(product: Product) -> bool:
    return not product.pods("controller") and not product.pods("nodeagent")


def remaining(cluster: Cluster) -> set[str]:
    """What is left in our namespace of the kinds that anything of ours is of."""
    kinds = "deployments,daemonsets,services,serviceaccounts,roles,rolebindings,leases,pdb,netpol"
    template = '{range .items[*]}{.kind}/{.metadata.name}{"\\n"}{end}'
    words = ("get", kinds, f"--namespace={NAMESPACE}", f"-o=jsonpath={template}")
    return set(cluster.kubectl(*words).split()) - {"ServiceAccount/default"}
