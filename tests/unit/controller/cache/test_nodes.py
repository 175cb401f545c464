from __future__ import annotations

from controller.cache.nodes import NodeIndex
from controller.cache.records import NodeRecord
from gpupods.identity import NodeName

N1 = NodeName("n1")


def heard(index: NodeIndex) -> list[tuple[NodeName, NodeRecord | None]]:
    news: list[tuple[NodeName, NodeRecord | None]] = []
    index.subscribe(lambda name, node: news.append((name, node)))
    return news


def test_only_changes_of_address_and_losses_are_told() -> None:
    index = NodeIndex()
    news = heard(index)
    index.put(NodeRecord(N1, "u1", ("10.0.0.1",)))
    index.put(NodeRecord(N1, "u1", ("10.0.0.1",)))
    assert news == []
    moved = NodeRecord(N1, "u1", ("10.0.0.2", "fd00::2"))
    index.put(moved)
    assert news == [(N1, moved)]
    index.remove("u1")
    assert news[1:] == [(N1, None)]
    assert index.get(N1) is None
    assert len(index) == 0


def test_the_end_of_a_replaced_node_does_not_take_the_new_one() -> None:
    index = NodeIndex()
    index.put(NodeRecord(N1, "old", ("10.0.0.1",)))
    index.put(NodeRecord(N1, "new", ("10.0.0.1",)))
    news = heard(index)
    assert index.uids() == {"old", "new"}, "a list that lacks the old one is to remove it"
    index.remove("old")
    assert news == []
    assert index.get(N1) == NodeRecord(N1, "new", ("10.0.0.1",))
    assert index.uids() == {"new"}


def test_unknown_nodes_are_removed_without_a_word() -> None:
    index = NodeIndex()
    news = heard(index)
    index.remove("nobody")
    assert news == []


def test_a_replaced_nodes_end_that_comes_after_the_new_ones() -> None:
    index = NodeIndex()
    index.put(NodeRecord(N1, "old"))
    index.put(NodeRecord(N1, "new"))
    index.remove("new")
    index.remove("old")
    assert list(index) == []
