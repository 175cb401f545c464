"""The real kube-scheduler with the controller as its extender, on the real API server."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from gpupods.accounting.names import GPU_INDEX, PREDICATE_TIME
from tests.e2e.scheduling import CARD, GpuCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.programs import Programs
    from tests.realparts.apiserver import Apiserver

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

XID_79 = "XID 79: the GPU has fallen off the bus"


@pytest.fixture(scope="module")
def running(apiserver: Apiserver, programs: Programs) -> Iterator[GpuCluster]:
    with GpuCluster(apiserver, programs) as cluster:
        yield cluster.start()


@pytest.fixture
def cluster(running: GpuCluster) -> Iterator[GpuCluster]:
    """Without nodes and pods."""
    yield running
    running.clear()


def test_a_pod_gets_a_card_and_its_annotations(cluster: GpuCluster) -> None:
    node = cluster.node()
    before = time.time_ns()
    pod = cluster.pod(memory=1000)
    assert cluster.place(pod) == (node, "0")
    written = cluster.read(pod)["metadata"]["annotations"]
    assert before < int(written[PREDICATE_TIME]) < time.time_ns()


def test_memory_is_given_until_it_is_gone(cluster: GpuCluster) -> None:
    cluster.node(gpus=2)
    pods = [cluster.pod(memory=CARD // 2) for _ in range(4)]
    assert sorted(cluster.gpus(pod) for pod in pods) == ["0", "0", "1", "1"]
    one_more = cluster.pod(memory=1)
    assert "Insufficient volcano.sh/gpu-memory" in cluster.refused(one_more)
    cluster.delete(pods[0])
    assert cluster.gpus(one_more) in "01"


def test_whole_cards(cluster: GpuCluster) -> None:
    cluster.node(gpus=4)
    shared = cluster.pod(memory=1)
    assert cluster.gpus(shared) == "0"
    assert cluster.gpus(cluster.pod(number=2)) == "1,2"
    assert cluster.gpus(cluster.pod(number=1)) == "3"
    assert cluster.gpus(cluster.pod(memory=1)) == "0"


def test_no_pod_lands_on_an_unfit_card(cluster: GpuCluster) -> None:
    cluster.node(gpus=3, unfit={0: XID_79})
    pods = [cluster.pod(memory=CARD // 4) for _ in range(8)]
    assert Counter(map(cluster.gpus, pods)) == {"1": 4, "2": 4}


def test_a_card_that_is_well_again_is_used_again(cluster: GpuCluster) -> None:
    node = cluster.node(gpus=1, unfit={0: XID_79})
    pod = cluster.pod(memory=CARD)
    assert XID_79 in cluster.refused(pod)
    cluster.set_unfit(node, {})
    assert cluster.place(pod) == (node, "0")


def test_a_card_that_turns_unfit_keeps_its_pods_and_gets_no_more(cluster: GpuCluster) -> None:
    node = cluster.node(gpus=2)
    assert cluster.gpus(cluster.pod(memory=1)) == "0"
    cluster.set_unfit(node, {0: XID_79})
    assert cluster.gpus(cluster.pod(memory=1)) == "1"
    assert cluster.gpus(cluster.pod(memory=CARD - 1)) == "1"


def test_a_full_node_is_refused_with_a_reason_that_kubectl_shows(cluster: GpuCluster) -> None:
    node = cluster.node(gpus=3, unfit={0: XID_79})
    held = cluster.pod(memory=3000), cluster.pod(memory=3000)
    assert sorted(map(cluster.gpus, held)) == ["1", "2"]
    pod = cluster.pod(memory=2000)
    reason = (
        f"node {node}: GPU 0 is unfit ({XID_79}), GPU 1 has 1096 of 4096 idle, "
        "GPU 2 has 1096 of 4096 idle"
    )
    assert reason in cluster.refused(pod)
    shown = cluster.described(pod, "FailedScheduling")
    print(shown[shown.index("Events:") :])
    assert reason in shown


def test_many_nodes_share_few_reasons(cluster: GpuCluster) -> None:
    for _ in range(6):
        cluster.node(gpus=1, unfit={0: XID_79})
    for _ in range(4):
        cluster.node(gpus=2, card=10)
    said = cluster.refused(cluster.pod(memory=11))
    assert "6 every GPU is unfit" in said
    assert "4 no GPU has 11 of volcano.sh/gpu-memory" in said
    assert "Preemption is not helpful" in said


def test_pods_at_the_same_time_never_get_the_same_memory(cluster: GpuCluster) -> None:
    for _ in range(3):
        cluster.node(gpus=4, unfit={2: XID_79})
    pods = [cluster.pod(memory=CARD // 2 + 1) for _ in range(9)]
    places = [cluster.place(pod) for pod in pods]
    assert len(set(places)) == 9, "each has a card to itself"
    assert {index for _, index in places} == {"0", "1", "3"}
    assert not re.search(r"panic|E\d{4}.*extender", cluster.scheduler.log())


def test_nodes_that_are_used_are_filled_first(cluster: GpuCluster) -> None:
    for _ in range(4):
        cluster.node(gpus=2)
    first, _ = cluster.place(cluster.pod(memory=CARD // 4))
    for _ in range(3):
        assert cluster.place(cluster.pod(memory=CARD // 4)) == (first, "0")


def test_a_pod_that_asks_for_no_gpu_is_the_scheduler_s_own(cluster: GpuCluster) -> None:
    node = cluster.node(gpus=1, unfit={0: XID_79})
    assert cluster.place(cluster.pod()) == (node, None)


def test_a_pod_that_asks_for_both_is_told(cluster: GpuCluster) -> None:
    cluster.node()
    said = cluster.refused(cluster.pod(memory=1, number=1))
    assert "let it ask for one of them" in said


def test_a_node_without_gpus_is_passed_over(cluster: GpuCluster) -> None:
    cluster.node(gpus=0)
    with_gpus = cluster.node(gpus=1)
    assert cluster.place(cluster.pod(memory=1)) == (with_gpus, "0")


def test_a_pod_that_has_ended_holds_nothing(cluster: GpuCluster) -> None:
    cluster.node(gpus=1)
    ended = cluster.pod(memory=CARD)
    assert cluster.gpus(ended) == "0"
    path = f"/api/v1/namespaces/{cluster.namespace}/pods/{ended}/status"
    cluster.api.patch(path, {"status": {"phase": "Succeeded"}})
    assert cluster.gpus(cluster.pod(memory=CARD)) == "0"


def test_nodes_sent_whole(apiserver: Apiserver, programs: Programs) -> None:
    """``nodeCacheCapable: false``."""
    with GpuCluster(apiserver, programs) as cluster:
        cluster.start(nodeCacheCapable=False)
        cluster.node(gpus=2, unfit={0: XID_79})
        cluster.node(gpus=0)
        assert cluster.gpus(cluster.pod(memory=CARD)) == "1"
        said = cluster.refused(cluster.pod(memory=CARD // 2))
        assert f"GPU 0 is unfit ({XID_79})" in said
        assert GPU_INDEX not in said
