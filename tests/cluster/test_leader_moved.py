"""The leading controller is taken away: another one leads, and nobody who asks notices."""

from __future__ import annotations

import pytest

from tests.cluster.load import asking
from tests.cluster.product import CONTROLLER, NAMESPACE, Product
from tests.cluster.testbed import BedPod, Testbed
from tests.realparts.processes import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


def test_every_answer_is_true_while_the_leader_moves(
    product: Product, bed: Testbed, pods: list[BedPod]
) -> None:
    before = product.leader()
    assert before in {pod["metadata"]["name"] for pod in product.pods("controller")}
    with asking(product, bed, pods) as load:
        bed.cluster.kubectl("delete", "pod", before, f"--namespace={NAMESPACE}")
        wait_until(lambda: product.leader() not in {before, ""}, what="another leader")
        load.wait_for_answers()
        bed.cluster.kubectl("rollout", "status", f"deployment/{CONTROLLER}", f"-n={NAMESPACE}")
        load.wait_for_answers()
    load.assert_all_true()
    assert product.leader() in {pod["metadata"]["name"] for pod in product.pods("controller")}
