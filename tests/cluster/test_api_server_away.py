"""The API server is away: answers stay true, and news is caught up with when it is back."""

from __future__ import annotations

import pytest

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.cluster import workloads
from tests.cluster.load import asking
from tests.cluster.product import Product
from tests.cluster.testbed import BedPod, Testbed
from tests.cluster.truthful import wait_for_truth
from tests.realparts.processes import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

LOST = "cannot follow the API server"


def test_answers_stay_true_while_the_api_server_is_away(
    product: Product, bed: Testbed, pods: list[BedPod]
) -> None:
    told = {log: log.read_text().count(LOST) for log in product.controller_logs()}
    with asking(product, bed, pods) as load:
        bed.cluster.control_plane.stop_apiserver()
        try:
            # Each controller has lost it, has tried again, and goes on answering.
            wait_until(
                lambda: all(log.read_text().count(LOST) >= n + 2 for log, n in told.items()),
                what="every controller to have lost the API server",
                deadline_s=120.0,
            )
            load.wait_for_answers(200)
        finally:
            bed.cluster.control_plane.start_apiserver()
    # They say, though, that their knowledge of pods is of a moment ago.
    load.assert_rows_true(pb.MISSING_KIND_POD)
    node = bed.cluster.gpu_nodes[0]
    bed.apply(workloads.pod("team-a", "late", workloads.pod_spec(node=node.name)))
    found = bed.pods(expected=workloads.CONTAINERS + 1)
    late = next(pod for pod in found if pod.name == "late")
    bed.put_pod(late)
    wait_for_truth(product.grpc, late.ref, lambda: bed.truth(node, found))
    bed.delete(late)
