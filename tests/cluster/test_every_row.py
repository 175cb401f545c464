"""Every row of the answer, for pods of every kind, through the Service: by whoever asks."""

from __future__ import annotations

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.product import Product
from tests.cluster.testbed import BedPod, Testbed
from tests.e2e.askers import Asker, ByClient, ByCommand, ByCurl, ByGrpcurl
from tests.e2e.comparing import assert_is
from tests.realparts.grpcurl import Grpcurl

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


@pytest.fixture(params=["grpc", "http", "command", "client"])
def asker(request: pytest.FixtureRequest, product: Product, grpcurl: Grpcurl) -> Asker:
    askers: dict[str, Asker] = {
        "grpc": ByGrpcurl(grpcurl, product.grpc),
        "http": ByCurl(product.cluster.parts.base.curl, product.http),
        "command": ByCommand(product.grpc),
        "client": ByClient(product.grpc),
    }
    return askers[request.param]


def test_the_answer_about_each_pod_is_the_truth(
    cluster: Cluster, bed: Testbed, pods: list[BedPod], asker: Asker
) -> None:
    assert len(pods) == 12
    for pod in pods:
        assert_is(asker.ask(pod.ref), bed.truth(cluster.nodes[pod.node], pods))


def test_a_pod_is_found_by_its_uid(
    cluster: Cluster, bed: Testbed, pods: list[BedPod], asker: Asker
) -> None:
    for pod in pods:
        if pod.name == "twin":
            assert_is(asker.ask(pod.uid), bed.truth(cluster.nodes[pod.node], pods))
