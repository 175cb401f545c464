"""The controller is killed while the real kube-scheduler binds pods through it, and comes back."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.e2e.scheduling import CARD, GpuCluster
from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from tests.e2e.programs import Programs
    from tests.realparts.apiserver import Apiserver

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

NODES, GPUS, PODS_A_CARD = 3, 4, 4


def test_no_memory_is_given_twice_and_every_pod_is_bound(
    apiserver: Apiserver, programs: Programs
) -> None:
    with GpuCluster(apiserver, programs) as cluster:
        cluster.start()
        for _ in range(NODES):
            cluster.node(gpus=GPUS)
        before = cluster.controller
        pods = [cluster.pod(memory=CARD // PODS_A_CARD) for _ in range(NODES * GPUS * PODS_A_CARD)]
        wait_until(lambda: any(map(cluster.is_bound, pods)), what="the first to be bound")
        before.kill()
        bound = sum(map(cluster.is_bound, pods))
        cluster.start_controller("--http-listen", before.http)
        cluster.nudge()
        places = Counter(map(cluster.place, pods))
        print(f"{bound} of {len(pods)} pods were bound when the controller was killed")
        assert len(places) == NODES * GPUS
        assert set(places.values()) == {PODS_A_CARD}
