"""One cluster for all tests here, started when the first of them needs it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial

import pytest

from tests.cluster import building, parts
from tests.cluster.cluster import Cluster
from tests.cluster.product import Product
from tests.cluster.showing import state
from tests.cluster.testbed import BedPod, Testbed, pod_on
from tests.cluster.truthful import wait_for_truth
from tests.realparts.parts import Parts


@pytest.fixture(scope="session")
def cluster_parts(real_parts: Parts) -> parts.ClusterParts:
    """The programs, installed and built where they were missing."""
    return parts.ensure()


@pytest.fixture(scope="session")
def cluster(cluster_parts: parts.ClusterParts) -> Iterator[Cluster]:
    archives = building.archives(cluster_parts)
    with Cluster(cluster_parts, archives.values()) as started:
        yield started


@pytest.fixture(scope="session")
def product(cluster: Cluster) -> Product:
    """gpupods, installed from its manifests."""
    installed = Product(cluster)
    installed.install()
    return installed


@pytest.fixture(scope="session")
def bed(cluster: Cluster) -> Testbed:
    return Testbed(cluster)


@pytest.fixture
def pods(product: Product, bed: Testbed) -> list[BedPod]:
    """Workloads of every kind on the GPUs, once the answers about both nodes are the truth."""
    found = bed.fill()
    product.wait()
    for node in bed.cluster.gpu_nodes:
        wait_for_truth(product.grpc, pod_on(node.name, found), partial(bed.truth, node, found))
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a test that has failed what the cluster looks like by then."""
    report = yield
    cluster = item.funcargs.get("cluster")  # type: ignore[attr-defined]
    if report.failed and cluster is not None:
        report.sections += state(cluster)
    return report
