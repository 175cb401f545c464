"""The API server's objects with their versions, and the history that watches are served from.

One version counts for all kinds, as in etcd. What has been compacted can no longer be watched
from, nor paged through. No I/O.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any

import msgspec

from simulator.apiserver.pod_object import Json
from simulator.model import Verb

FIRST_VERSION = 1000
HISTORY = 100_000
"""Events that are kept of each kind before the oldest are compacted away."""
SNAPSHOTS = 32
"""Lists that can be paged through at one time."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as it was at ``version``."""

    version: int
    key: str
    object: Json
    raw: msgspec.Raw
    """The object in JSON."""


@dataclass(frozen=True, slots=True)
class Event:
    """A change of one object. ``before`` is None where the object is new."""

    version: int
    verb: Verb
    after: Stored
    before: Stored | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A kind's objects at one version, in the order of their keys."""

    version: int
    items: tuple[Stored, ...]


class CompactedError(Exception):
    """What happened at the version that was asked for is no longer known."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")


class Store:
    """The objects of each of ``kinds``: pods, nodes, ..."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.version = FIRST_VERSION
        self.oldest = FIRST_VERSION
        self._objects: dict[str, dict[str, Stored]] = {kind: {} for kind in kinds}
        self._history: dict[str, deque[Event]] = {kind: deque() for kind in kinds}
        self._listeners: dict[tuple[str, str], set[asyncio.Queue[Event | None]]] = {}
        """By kind and key; the key of those who hear of all is empty."""
        self._snapshots: dict[tuple[str, int], Snapshot] = {}

    def get(self, kind: str, key: str) -> Stored | None:
        """The object as it is now."""
        return self._objects[kind].get(key)

    def put(self, kind: str, thing: Json) -> Stored:
        """Store ``thing`` under its namespace and name, at the next version."""
        key = key_of(thing)
        before = self._objects[kind].get(key)
        after = self._next(key, thing)
        self._objects[kind][key] = after
        verb = Verb.ADDED if before is None else Verb.MODIFIED
        self._record(kind, Event(after.version, verb, after, before))
        return after

    def remove(self, kind: str, key: str) -> None:
        """Remove an object; nothing happens if there is none."""
        before = self._objects[kind].pop(key, None)
        if before is None:
            return
        last = self._next(key, before.object)
        self._record(kind, Event(last.version, Verb.DELETED, last, before))

    def keep_newest(self, kind: str, most: int) -> None:
        """Remove the objects that were put there first, until there are ``most``."""
        objects = self._objects[kind]
        while len(objects) > most:
            self.remove(kind, next(iter(objects)))

    def snapshot(self, kind: str) -> Snapshot:
        """All objects as they are now, kept for a while so that they can be paged through."""
        found = self._snapshots.get((kind, self.version))
        if found is None:
            objects = self._objects[kind]
            found = Snapshot(self.version, tuple(objects[key] for key in sorted(objects)))
            self._snapshots[kind, self.version] = found
            while len(self._snapshots) > SNAPSHOTS:
                del self._snapshots[next(iter(self._snapshots))]
        return found

    def snapshot_at(self, kind: str, version: int) -> Snapshot:
        """The objects as they were when a list began.

        Raises:
            CompactedError: they are no longer known.
        """
        found = self._snapshots.get((kind, version))
        if found is None:
            raise CompactedError(version, self.oldest)
        return found

    def since(self, kind: str, version: int) -> list[Event]:
        """What happened after ``version``.

        Raises:
            CompactedError: some of it is no longer known.
        """
        if version < self.oldest:
            raise CompactedError(version, self.oldest)
        later: list[Event] = []
        for event in reversed(self._history[kind]):
            if event.version <= version:
                break
            later.append(event)
        return later[::-1]

    def listen(self, kind: str, key: str = "") -> asyncio.Queue[Event | None]:
        """A queue of all that happens from now on, or to one object. None on it ends the watch."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._listeners.setdefault((kind, key), set()).add(queue)
        return queue

    def unlisten(self, kind: str, queue: asyncio.Queue[Event | None], key: str = "") -> None:
        """Put nothing on ``queue`` any more."""
        listeners = self._listeners.get((kind, key), set())
        listeners.discard(queue)
        if not listeners:
            self._listeners.pop((kind, key), None)

    def end_watches(self) -> None:
        """End every watch, in good order."""
        for queues in self._listeners.values():
            for queue in queues:
                queue.put_nowait(None)

    def compact(self) -> None:
        """Forget all that happened up to now. The objects stay."""
        self.oldest = self.version
        self._snapshots.clear()
        for history in self._history.values():
            history.clear()

    def _next(self, key: str, thing: Json) -> Stored:
        self.version += 1
        metadata: dict[str, Any] = thing["metadata"] | {"resourceVersion": str(self.version)}
        versioned = thing | {"metadata": metadata}
        return Stored(self.version, key, versioned, msgspec.Raw(msgspec.json.encode(versioned)))

    def _record(self, kind: str, event: Event) -> None:
        history = self._history[kind]
        history.append(event)
        if len(history) > HISTORY:
            self.oldest = history.popleft().version
        for key in ("", event.after.key):
            for queue in self._listeners.get((kind, key), ()):
                queue.put_nowait(event)


def key_of(thing: Json) -> str:
    """``namespace/name``, or ``name`` of what is in no namespace."""
    metadata = thing["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
