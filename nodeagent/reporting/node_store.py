"""The latest that is known of the agent's Node: from the watch, and from the answers to patches."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from nodeagent.reporting.own_node import OwnNode


class NodeStore:
    """Of one Node. ``changed`` is called when there is news.

    Attributes:
        node: As it was last seen; None: it is not there, or nobody has looked.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self.node: OwnNode | None = None
        self._changed = changed
        self._older: OwnNode | None = None

    def put(self, item: OwnNode) -> None:
        """This is how it is, unless something later is known."""
        if not item.replaces(self.node):
            self._older = item
            return
        self._older = None
        self.node = item
        self._changed()

    def remove(self, uid: str) -> None:
        """It was deleted."""
        if self.node is not None and self.node.metadata.uid == uid:
            self.node = None
            self._changed()

    def uids(self) -> AbstractSet[str]:
        """Its uid, if it is there."""
        return set() if self.node is None else {self.node.metadata.uid}

    def listed(self) -> None:
        """What the server has now is true, be it older: it was restored from a backup."""
        if self._older is not None:
            self.node, self._older = self._older, None
            self._changed()

    def waiting(self, reason: str) -> None:  # noqa: ARG002 - the reflector's status has it
        """What the next list has is not what the last watch was late with."""
        self._older = None
