"""A watch as a stream of frames, each one JSON event and a line end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import msgspec

from simulator.apiserver.discovery import KINDS
from simulator.apiserver.lists import Shown
from simulator.apiserver.pod_object import Json
from simulator.apiserver.requests import ListOptions, Target
from simulator.apiserver.status import gone
from simulator.apiserver.store import CompactedError, Event, Store, Stored
from simulator.model import Verb

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
DEFAULT_TIMEOUT_S = 1800


class Watch:
    """One watch of ``target``. ``bookmark_every_s`` is how often a quiet one is told a version."""

    def __init__(
        self,
        store: Store,
        target: Target,
        options: ListOptions,
        shown: Shown,
        bookmark_every_s: float,
    ) -> None:
        self._store = store
        self._target = target
        self._options = options
        self._shown = shown
        self._bookmark_every_s = bookmark_every_s
        self._head = True

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """The events until the watch times out, is ended, or its version is too old."""
        resource, key = self._target.resource, self._options.only
        queue = self._store.listen(resource, key)
        try:
            for frame in self._first():
                yield frame
            async for frame in self._following(queue):
                yield frame
        except CompactedError as error:
            status = gone(str(error)).object()
            yield _frame("ERROR", status)
        finally:
            self._store.unlisten(resource, queue, key)

    def _first(self) -> list[bytes]:
        """What is there already: the objects, or the events since the version that was given."""
        options, resource = self._options, self._target.resource
        from_now = options.version in (None, 0)
        if not from_now and not options.initial_events:
            events = self._store.since(resource, options.version or 0)
            return [frame for event in events for frame in self._event(event)]
        items, version = self._there()
        frames = [
            self._object(Verb.ADDED.value, item) for item in items if options.matches(item.object)
        ]
        if options.initial_events and options.bookmarks:
            annotations = {INITIAL_EVENTS_END: "true"}
            frames.append(self._bookmark(version, annotations))
        return frames

    def _there(self) -> tuple[tuple[Stored, ...], int]:
        """The objects that may match, and the version they are of."""
        if not self._options.only:
            snapshot = self._store.snapshot(self._target.resource)
            return snapshot.items, snapshot.version
        found = self._store.get(self._target.resource, self._options.only)
        return () if found is None else (found,), self._store.version

    async def _following(self, queue: asyncio.Queue[Event | None]) -> AsyncGenerator[bytes, None]:
        timeout = self._options.timeout_s
        end = time.monotonic() + (DEFAULT_TIMEOUT_S if timeout is None else timeout)
        while True:
            left = end - time.monotonic()
            wait = min(left, self._bookmark_every_s)
            try:
                # Not wait_for, which on Python 3.11 can lose a cancellation.
                async with asyncio.timeout(max(wait, 0)):
                    event = await queue.get()
            except TimeoutError:
                if self._options.bookmarks:
                    yield self._bookmark(self._store.version)
                if wait >= left:
                    return
                continue
            if event is None:
                return
            for frame in self._event(event):
                yield frame

    def _event(self, event: Event) -> list[bytes]:
        """The frames of a change: an object that leaves the selection is deleted to the watcher."""
        matches = self._options.matches
        before = event.before is not None and matches(event.before.object)
        after = event.verb is not Verb.DELETED and matches(event.after.object)
        if before and after:
            verb = Verb.MODIFIED
        elif after:
            verb = Verb.ADDED
        elif before:
            verb = Verb.DELETED
        else:
            return []
        return [self._object(verb.value, event.after)]

    def _object(self, verb: str, stored: Stored) -> bytes:
        shown = self._shown.one(self._target.resource, stored, head=self._head)
        self._head = False
        return _frame(verb, shown)

    def _bookmark(self, version: int, annotations: dict[str, str] | None = None) -> bytes:
        metadata: Json = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        resource = self._target.resource
        thing = {"kind": KINDS[resource][0], "apiVersion": self._shown.group_version}
        return _frame("BOOKMARK", thing | {"metadata": metadata})


def _frame(kind: str, thing: object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": thing}) + b"\n"
