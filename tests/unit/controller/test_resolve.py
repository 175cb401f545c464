"""worker_id -> pod -> node -> address, and each way in which it can end early."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.cache.cluster import NODES, PODS, ClusterCache
from controller.cache.records import NodeRecord, PodRecord
from controller.near_names import LOOKED_AT, near_pods
from controller.resolve import resolve
from gpupods.errors import StatusError
from gpupods.identity import NodeName, PodUid

UID = "4cc9e1ab-2a60-4c3a-9a61-0b9a2b5f8a10"
GPU_1 = NodeName("gpu-1")


def pod(namespace: str, name: str, uid: str, node: str = "gpu-1") -> PodRecord:
    phase = "Running" if node else "Pending"
    return PodRecord(PodUid(uid), namespace, name, NodeName(node), phase)


def cache(*pods: PodRecord, nodes: tuple[NodeRecord, ...] | None = None) -> ClusterCache:
    made = ClusterCache()
    for one in pods:
        made.put_pod(one)
    for node in (NodeRecord(GPU_1, "n1", ("10.0.0.1",)),) if nodes is None else nodes:
        made.put_node(node)
    made.report_listed(PODS)
    made.report_listed(NODES)
    return made


def failure(worker_id: str, known: ClusterCache) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(StatusError) as caught:
        resolve(worker_id, known)
    return caught.value.code, caught.value.message


@pytest.mark.parametrize("worker_id", ["web-0", "shop/web-0", UID])
def test_by_name_namespaced_name_and_uid(worker_id: str) -> None:
    found = resolve(worker_id, cache(pod("shop", "web-0", UID)))
    assert (found.pod.uid, found.node, found.addresses) == (UID, "gpu-1", ("10.0.0.1",))


def test_a_static_pods_uid_without_dashes() -> None:
    uid = UID.replace("-", "")
    assert resolve(uid, cache(pod("kube-system", "etcd", uid))).pod.uid == uid


def test_dual_stack_addresses_in_the_nodes_order() -> None:
    node = NodeRecord(GPU_1, "n1", ("fd00::1", "10.0.0.1"))
    found = resolve("web-0", cache(pod("shop", "web-0", UID), nodes=(node,)))
    assert found.addresses == ("fd00::1", "10.0.0.1")


@pytest.mark.parametrize(
    ("worker_id", "meant"),
    [
        ("web", "there is shop/web-0, shop/web-1"),
        ("trian-0", "there is team-a/train-0"),
        ("rtain-0", "there is team-a/train-0"),
        ("shop/web", "there is shop/web-0, shop/web-1"),
        ("team-a/trian-0", "there is team-a/train-0"),
        ("shop/train-1", "is the namespace right?"),
        ("database", "kubectl get pods -A lists them"),
        ("tromb-0", "kubectl get pods -A lists them"),
        ("train0", "there is team-a/train-0"),
        ("traiin-0", "there is team-a/train-0"),
        ("a", "kubectl get pods -A lists them"),
    ],
)
def test_a_name_that_was_misspelt(worker_id: str, meant: str) -> None:
    known = cache(
        pod("shop", "web-0", "u1"), pod("shop", "web-1", "u2"), pod("team-a", "train-0", "u3")
    )
    code, message = failure(worker_id, known)
    assert code is grpc.StatusCode.NOT_FOUND
    assert message.endswith(meant)


def test_a_guess_in_a_large_cluster_looks_at_a_part_of_it() -> None:
    looked_at = []

    def pods() -> Iterator[PodRecord]:
        for number in range(10 * LOOKED_AT):
            looked_at.append(number)
            yield pod("shop", f"web-{number}", str(number))

    assert near_pods("wbe-7", pods()) != []
    assert len(looked_at) <= LOOKED_AT


def test_an_ambiguous_name_lists_the_candidates() -> None:
    known = cache(pod("b", "web-0", "u2"), pod("a", "web-0", "u1"))
    code, message = failure("web-0", known)
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "2 pods are named 'web-0': a/web-0, b/web-0; ask for one by namespace/name" in message


def test_a_hundred_candidates_are_not_all_listed() -> None:
    known = cache(*(pod(f"ns-{number:02}", "web-0", f"u{number}") for number in range(100)))
    _, message = failure("web-0", known)
    assert "ns-09/web-0 and 90 more" in message


def test_one_pod_being_replaced_by_another_is_not_ambiguous() -> None:
    known = cache(pod("shop", "web-0", "old"), pod("shop", "web-0", "new"))
    assert resolve("web-0", known).pod.uid == "new"


@pytest.mark.parametrize(
    ("worker_id", "message"),
    [
        ("nobody", "there is no pod named 'nobody' in any namespace"),
        ("shop/nobody", "there is no pod 'nobody' in namespace 'shop'"),
        ("stop/web-0", "there is shop/web-0"),
        (UID.replace("4", "5"), "there is no pod with uid"),
    ],
)
def test_unknown(worker_id: str, message: str) -> None:
    code, said = failure(worker_id, cache(pod("shop", "web-0", UID)))
    assert code is grpc.StatusCode.NOT_FOUND
    assert message in said


def test_not_scheduled() -> None:
    code, message = failure("web-0", cache(pod("shop", "web-0", UID, node="")))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "not scheduled to a node yet (phase Pending)" in message


def test_node_unknown() -> None:
    code, message = failure("web-0", cache(pod("shop", "web-0", UID), nodes=()))
    assert code is grpc.StatusCode.NOT_FOUND
    assert "node 'gpu-1'" in message


def test_node_without_an_internal_ip() -> None:
    known = cache(pod("shop", "web-0", UID), nodes=(NodeRecord(GPU_1, "n1"),))
    code, message = failure("web-0", known)
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "no InternalIP" in message


def test_not_synced() -> None:
    known = ClusterCache()
    known.put_pod(pod("shop", "web-0", UID))
    code, message = failure("web-0", known)
    assert code is grpc.StatusCode.UNAVAILABLE
    assert "pods: not listed yet; nodes: not listed yet" in message


@pytest.mark.parametrize(
    "worker_id",
    ["", "   ", "a\nb", "x" * 1024 * 1024, '{"a": "b"}', " [1]", "a/b/c", "/web-0", "shop/",
     "Web 0", "\ud83d\ude00", "\x00", "a\u2028b"],
)  # fmt: skip
def test_what_names_no_possible_pod(worker_id: str) -> None:
    code, message = failure(worker_id, cache(pod("shop", "web-0", UID)))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "worker_id" in message
    assert len(message) < 400


@given(st.text())
def test_any_text_ends_in_a_clear_status(worker_id: str) -> None:
    code, message = failure(worker_id, cache(pod("shop", "web-0-of-the-test", UID)))
    assert code in {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}
    message.encode()
