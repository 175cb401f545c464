"""The API server was restored from a backup: what the Node carries now counts, be it older."""

from __future__ import annotations

from nodeagent.reporting.node_store import NodeStore
from nodeagent.reporting.own_node import OwnMeta, OwnNode


def node(version: int, **annotations: str) -> OwnNode:
    return OwnNode(OwnMeta("uid-1", "gpu-node", str(version), annotations))


def told(*, before: OwnNode) -> tuple[NodeStore, list[int]]:
    """A store that knows ``before``, and a mark for each time that there is news."""
    news: list[int] = []
    store = NodeStore(lambda: news.append(1))
    store.put(before)
    news.clear()
    return store, news


def test_a_list_that_is_older_is_true() -> None:
    store, news = told(before=node(900, mine="there"))
    store.waiting("the server's version went back, 900 to 400")
    store.put(node(400))
    store.listed()
    assert store.node == node(400)
    assert news == [1]


def test_a_watch_that_lags_behind_an_answer_is_not() -> None:
    store, news = told(before=node(900, mine="there"))
    store.put(node(890))
    assert (store.node, news) == (node(900, mine="there"), [])


def test_nor_is_it_when_the_server_is_listed_later() -> None:
    store, _ = told(before=node(900, mine="there"))
    store.put(node(890))
    store.waiting("the watch has ended")
    store.put(node(900, mine="there"))
    store.listed()
    assert store.node == node(900, mine="there")
