"""Both parts are replaced while callers ask: no answer is wrong, and none fails."""

from __future__ import annotations

import pytest

from tests.cluster.load import asking
from tests.cluster.product import Product
from tests.cluster.testbed import BedPod, Testbed
from tests.realparts.processes import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("part", ["daemonset/gpupods-nodeagent", "deployment/gpupods-controller"])
def test_every_answer_is_true_during_a_rolling_update(
    part: str, product: Product, bed: Testbed, pods: list[BedPod]
) -> None:
    component = part.rpartition("-")[2]

    def running() -> set[str]:
        return {pod["metadata"]["uid"] for pod in product.pods(component)}

    before = running()
    with asking(product, bed, pods) as load:
        product.restart(part)
        product.wait()
        wait_until(lambda: not before & running(), what="the end of the old pods", deadline_s=120.0)
        load.wait_for_answers()
    load.assert_all_true()
