"""The indexes against the plain truth: after any changes, each answers as a scan would."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from controller.cache.pods import PodIndexes
from controller.cache.records import Owner, PodRecord
from gpupods.identity import ContainerId, NodeName, PodRef, PodUid

NAMESPACES = ["a", "b"]
NAMES = ["web", "job"]
NODES = ["", "n1", "n2"]
CONTAINERS = [f"c{number}" for number in range(6)]


def record(uid: str, node: str, ids: list[str], phase: str = "Running") -> PodRecord:
    """A pod whose uid decides its names, as they never change."""
    number = int(uid)
    return PodRecord(
        uid=PodUid(uid),
        namespace=NAMESPACES[number % 2],
        name=NAMES[number // 2 % 2],
        node=NodeName(node),
        phase=phase,
        containers=tuple((ContainerId(f"{uid}-{one}"), "main") for one in ids),
        owner=Owner("Job", "job"),
    )


PODS = st.builds(
    record,
    st.integers(0, 7).map(str),
    st.sampled_from(NODES),
    st.lists(st.sampled_from(CONTAINERS), max_size=3, unique=True),
    st.sampled_from(["Pending", "Running"]),
)
CHANGES = st.lists(st.one_of(PODS, st.integers(0, 7).map(lambda number: PodUid(str(number)))))


@given(CHANGES)
def test_every_index_agrees_with_a_scan(changes: list[PodRecord | PodUid]) -> None:
    indexes = PodIndexes()
    truth: dict[PodUid, PodRecord] = {}
    for change in changes:
        if isinstance(change, PodRecord):
            indexes.put(change)
            truth[change.uid] = change
        else:
            indexes.remove(change)
            truth.pop(change, None)
        for node in NODES:
            indexes.container_map(NodeName(node))  # now, so that a stale one would be kept
    check(indexes, list(truth.values()))


def check(indexes: PodIndexes, pods: list[PodRecord]) -> None:
    assert len(indexes) == len(pods)
    assert list(indexes) == pods
    assert indexes.uids() == {pod.uid for pod in pods}
    for name in NAMES:
        assert indexes.named(name) == tuple(pod for pod in pods if pod.name == name)
        for namespace in NAMESPACES:
            ref = PodRef(namespace, name)
            of_ref = [pod for pod in pods if pod.ref == ref]
            assert indexes.by_ref(ref) == (of_ref[-1] if of_ref else None)
    for node in filter(None, NODES):
        on_node = [pod for pod in pods if pod.node == node]
        assert sorted(indexes.on(NodeName(node)), key=key) == sorted(on_node, key=key)
        names = {one: pod.name for pod in on_node for one, _ in pod.containers}
        assert json.loads(indexes.container_map(NodeName(node))) == names
    assert indexes.on(NodeName("")) == ()
    ids = {one: pod for pod in pods for one, _ in pod.containers}
    for number in range(8):
        for container in CONTAINERS:
            one = ContainerId(f"{number}-{container}")
            found = indexes.of_container(one)
            assert (found.pod if found else None) == ids.get(one)
    # An index must not grow with pods that have gone.
    assert indexes._by_name._groups.keys() == {pod.name for pod in pods}
    assert indexes._by_ref._groups.keys() == {(pod.namespace, pod.name) for pod in pods}
    assert indexes._by_node._groups.keys() == {pod.node for pod in pods if pod.node}
    assert indexes._by_container.keys() == ids.keys()


def key(pod: PodRecord) -> PodUid:
    return pod.uid


def test_the_map_is_encoded_once_a_change() -> None:
    indexes = PodIndexes()
    node = NodeName("n1")
    indexes.put(record("0", "n1", ["c0"]))
    first = indexes.container_map(node)
    assert first == '{"0-c0":"web"}'
    assert indexes.container_map(node) is first
    indexes.put(record("0", "n1", ["c0"], phase="Succeeded"))
    assert indexes.container_map(node) is first, "a new phase does not change it"
    indexes.put(record("1", "n2", ["c0"]))
    assert indexes.container_map(node) is first, "nor does another node's pod"
    indexes.put(record("0", "n1", ["c1"]))
    assert indexes.container_map(node) == '{"0-c1":"web"}'


def test_maps_of_nodes_without_containers_are_not_kept() -> None:
    indexes = PodIndexes()
    for number in range(100):
        assert indexes.container_map(NodeName(f"made-up-{number}")) == "{}"
    assert not indexes._maps


def test_a_container_of_two_names_is_the_one_of_the_later_pod() -> None:
    """A runtime's ids are unique; where two pods claim one, the last word counts."""
    indexes = PodIndexes()
    shared = ((ContainerId("same"), "main"),)
    for uid in ("0", "4"):
        one = record(uid, "n1", [])
        indexes.put(PodRecord(one.uid, one.namespace, one.name, one.node, one.phase, shared))
    found = indexes.of_container(ContainerId("same"))
    assert found is not None
    assert found.pod.uid == "4"
    indexes.remove(PodUid("0"))
    assert indexes.of_container(ContainerId("same")) is not None
