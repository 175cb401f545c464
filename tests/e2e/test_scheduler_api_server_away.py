"""The real API server goes away in the middle of a binding: what was held is free again in time."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
import urllib3

from tests.e2e.scheduling import CARD, GpuCluster
from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from tests.e2e.programs import Programs
    from tests.realparts.apiserver import Apiserver

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

HOLD_S = 3.0


def test_what_was_never_bound_is_given_to_another(apiserver: Apiserver, programs: Programs) -> None:
    with GpuCluster(apiserver, programs) as cluster:
        cluster.start_controller("--scheduler-hold", str(HOLD_S))
        node = cluster.node(gpus=1)
        first, second = (cluster.read(cluster.pod(memory=CARD)) for _ in range(2))
        wait_until(lambda: fits(cluster, first, node), what="the node to be known")
        apiserver.stop()
        try:
            asked = time.monotonic()
            error = bind(cluster, first, node)
            assert "was not bound to" in error
            assert fits(cluster, first, node), "the pod itself may try again"
            assert not fits(cluster, second, node) or time.monotonic() > asked + HOLD_S
            wait_until(lambda: fits(cluster, second, node), what="the card to be free again")
            assert time.monotonic() > asked + HOLD_S
        finally:
            apiserver.start()
        wait_until(lambda: bind(cluster, second, node) == "", what="the other to be bound")
        name = second["metadata"]["name"]
        assert cluster.place(name) == (node, "0")
        assert not fits(cluster, first, node)


def fits(cluster: GpuCluster, pod: dict[str, Any], node: str) -> bool:
    answer = post(cluster, "filter", {"Pod": pod, "Nodes": None, "NodeNames": [node]})
    return node in (answer["NodeNames"] or ())


def bind(cluster: GpuCluster, pod: dict[str, Any], node: str) -> str:
    metadata = pod["metadata"]
    asked = {
        "PodName": metadata["name"],
        "PodNamespace": metadata["namespace"],
        "PodUID": metadata["uid"],
        "Node": node,
    }
    return str(post(cluster, "bind", asked)["Error"])


def post(cluster: GpuCluster, verb: str, body: dict[str, Any]) -> dict[str, Any]:
    url = f"http://{cluster.controller.http}/scheduler/{verb}"
    answer = urllib3.request("POST", url, body=json.dumps(body), timeout=30.0)
    assert answer.status == 200
    decoded: dict[str, Any] = answer.json()
    return decoded
