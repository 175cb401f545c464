"""containerd is away for a while: containers run on, and answers say what they lack."""

from __future__ import annotations

import pytest

from tests.cluster.load import asking
from tests.cluster.product import Product
from tests.cluster.testbed import BedPod, Testbed, pod_on
from tests.cluster.truthful import wait_for_truth

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


def test_answers_are_honest_while_containerd_is_away_and_true_after(
    product: Product, bed: Testbed, pods: list[BedPod]
) -> None:
    node, neighbour = bed.cluster.gpu_nodes
    with asking(product, bed, pods, [node]) as load:
        with asking(product, bed, pods, [neighbour]) as beside:
            node.stop_containerd()
            load.wait_for_answers()
            node.start_containerd()
            load.wait_for_answers()
        beside.assert_all_true()
    load.assert_honest()
    wait_for_truth(product.grpc, pod_on(node.name, pods), lambda: bed.truth(node, pods))
    assert bed.fill() == pods
