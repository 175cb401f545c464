"""Nodes by name, and the news of their addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from controller.cache.records import NodeRecord
from gpupods.identity import NodeName

NodeListener: TypeAlias = Callable[[NodeName, NodeRecord | None], None]
"""Called with a node whose addresses have changed, or with None when it has gone."""


class NodeIndex:
    """All nodes. Several uids can share a name for a moment: the last to arrive is the node."""

    def __init__(self) -> None:
        self._by_name: dict[NodeName, NodeRecord] = {}
        self._names: dict[str, NodeName] = {}
        self._listeners: list[NodeListener] = []

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[NodeRecord]:
        return iter(self._by_name.values())

    def subscribe(self, listener: NodeListener) -> None:
        """Have ``listener`` called on every change of address and every loss from now on."""
        self._listeners.append(listener)

    def uids(self) -> frozenset[str]:
        """The uids of all nodes."""
        return frozenset(self._names)

    def get(self, name: NodeName) -> NodeRecord | None:
        """The node of this name."""
        return self._by_name.get(name)

    def put(self, node: NodeRecord) -> None:
        """Add a node, or replace what is known of it."""
        old = self._by_name.get(node.name)
        self._by_name[node.name] = node
        self._names[node.uid] = node.name
        if old is not None and old.internal_ips != node.internal_ips:
            self._tell(node.name, node)

    def remove(self, uid: str) -> None:
        """Forget a node, if it is known. Its name stays if a newer node has taken it."""
        name = self._names.pop(uid, None)
        if name is None:
            return
        node = self._by_name.get(name)
        if node is None or node.uid != uid:
            return
        del self._by_name[name]
        self._tell(name, None)

    def _tell(self, name: NodeName, node: NodeRecord | None) -> None:
        for listener in self._listeners:
            listener(name, node)
