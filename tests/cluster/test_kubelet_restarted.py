"""A kubelet is away for a while: pods run on, and nobody who asks notices."""

from __future__ import annotations

import pytest

from tests.cluster.load import asking
from tests.cluster.product import Product
from tests.cluster.testbed import BedPod, Testbed

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


def test_answers_stay_true_while_a_kubelet_is_away_and_after(
    product: Product, bed: Testbed, pods: list[BedPod]
) -> None:
    node = bed.cluster.gpu_nodes[0]
    with asking(product, bed, pods) as load:
        node.stop_kubelet()
        load.wait_for_answers()
        bed.cluster.start_kubelet(node)
        load.wait_for_answers()
    load.assert_all_true()
    # The pods are those of before, the kubelet's own among them.
    assert bed.fill() == pods
