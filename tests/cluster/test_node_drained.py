"""A node is drained and comes back: what runs there is told at every moment."""

from __future__ import annotations

from functools import partial

import pytest

from tests.cluster.load import asking
from tests.cluster.product import Product
from tests.cluster.testbed import BedPod, Testbed, pod_on
from tests.cluster.truthful import wait_for_truth

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


def test_a_drained_node_answers_and_fills_again(
    product: Product, bed: Testbed, pods: list[BedPod]
) -> None:
    neighbour, drained = bed.cluster.gpu_nodes
    staying = pod_on(drained.name, pods)
    words = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=180s")
    with asking(product, bed, pods, [neighbour]) as load:
        bed.cluster.kubectl("drain", drained.name, *words)
        try:
            wait_for_truth(product.grpc, staying, partial(bed.truth_now, drained, pods))
        finally:
            bed.cluster.kubectl("uncordon", drained.name)
    load.assert_all_true()
    again = bed.fill()
    assert {pod.workload for pod in again} == {pod.workload for pod in pods}
    for node in bed.cluster.gpu_nodes:
        ref = pod_on(node.name, again)
        wait_for_truth(product.grpc, ref, partial(bed.truth, node, again))
