"""A node's network is cut: its neighbours' callers do not notice, its own are told in time."""

from __future__ import annotations

import pytest

from gpupods import Client
from gpupods.client.errors import DeadlineExceeded, Unavailable
from tests.cluster.load import asking
from tests.cluster.product import Product
from tests.cluster.testbed import BedPod, Testbed, pod_on
from tests.cluster.truthful import wait_for_truth

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

_PATIENCE_S = 5.0
"""A caller's own, as long as the controller's is for callers who set none."""


def test_neighbours_of_a_node_that_is_cut_off_get_true_answers(
    product: Product, bed: Testbed, pods: list[BedPod]
) -> None:
    neighbour, lost = bed.cluster.gpu_nodes
    # Callers that are sent to a controller on the lost node itself are another matter.
    product.keep_controllers_off(lost)
    ref, network = pod_on(lost.name, pods), bed.cluster.network
    with asking(product, bed, pods, [neighbour]) as load, Client(product.grpc) as client:
        network.cut(lost.machine)
        try:
            for _ in range(3):
                with pytest.raises((DeadlineExceeded, Unavailable), match=lost.name):
                    client.get_gpu_pods(ref, timeout_s=_PATIENCE_S)
            load.wait_for_answers()
        finally:
            network.mend(lost.machine)
    load.assert_all_true()
    wait_for_truth(product.grpc, ref, lambda: bed.truth(lost, pods))
