"""Keeps a store equal to what the API server has of one kind: list once, then watch.

The rules are those of client-go's reflector: resume from the last version seen, list again when
the server no longer keeps it, replace on a list (what has vanished meanwhile goes), and never
come back without a pause after a failure. Objects are known by their uid.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import structlog

from gpupods.clock import Clock, SystemClock
from gpupods.kube.api import KubeApi
from gpupods.kube.backoff import Backoff
from gpupods.kube.encoding import (
    Encoding,
    Event,
    Identity,
    Resource,
    UndecodableError,
    is_older,
)
from gpupods.kube.failures import ApiError, GoneError, MalformedError, refusal_in_stream
from gpupods.kube.listing import Batch, Listing
from gpupods.kube.objects import KubeObject
from gpupods.kube.status import ReflectorStatus

log = structlog.get_logger()

T = TypeVar("T", bound=KubeObject)
T_contra = TypeVar("T_contra", contravariant=True)

FROM_MEMORY, FROM_THE_STORE = "0", ""
"""What a list may be made of, as its resourceVersion: see `Listing`."""

ITEMS_A_TURN = 50
"""Objects decoded before other work of the event loop has its turn: about a millisecond's."""

UNDECODABLE_LOGGED = 20
"""Different complaints about undecodable objects that are logged, each once."""


class Store(Protocol[T_contra]):
    """What a reflector fills."""

    def put(self, item: T_contra) -> None:
        """Add an object, or replace what is known of it."""

    def remove(self, uid: str) -> None:
        """Forget an object; it may be unknown."""

    def uids(self) -> AbstractSet[str]:
        """The objects that are there."""

    def listed(self) -> None:
        """Everything that the server has is there."""

    def waiting(self, reason: str) -> None:
        """An attempt has failed."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Sizes and times.

    Attributes:
        page_size: Objects asked for at once.
        watch_s: How long a watch is to last. The longest time for which a connection that is
            open and dead goes unnoticed is this and the margin.
        margin_s: How much longer the server may take to end it.
        healthy_s: A watch that has lasted this long was no failure: what comes after it starts
            without a pause, or with the shortest.
        first_pause_s: After a failure; doubled after each further one.
        longest_pause_s: In the end.
    """

    page_size: int = 500
    watch_s: int = 150
    margin_s: float = 15.0
    healthy_s: float = 10.0
    first_pause_s: float = 0.5
    longest_pause_s: float = 15.0


class Reflector(Generic[T]):
    """Fills ``store`` with the objects of ``resource`` for as long as `run` runs."""

    def __init__(
        self,
        api: KubeApi,
        resource: Resource[T],
        store: Store[T],
        pace: Pace | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.status = ReflectorStatus(resource.kind)
        self.synced = asyncio.Event()
        self._api = api
        self._resource = resource
        self._store = store
        self._pace = pace or Pace()
        self._clock = clock or SystemClock()
        self._backoff = Backoff(self._pace.first_pause_s, self._pace.longest_pause_s)
        self._version = ""
        self._list_version = FROM_MEMORY
        self._complaints: set[str] = set()
        self._watching: asyncio.Timeout | None = None
        self._opened = asyncio.Event()

    async def renew(self) -> None:
        """Give up the watch for another one, and return once the server has begun that.

        A connection may be dead without a word. What it did not tell, the next one tells at once.
        """
        known = self.status.watches
        if self._watching is not None:
            self._watching.reschedule(0.0)
        while self.status.watches == known or self.status.stale_since is not None:
            await self._opened.wait()

    async def run(self) -> None:
        """List and watch until cancelled. No failure ends it."""
        while True:
            pause_s = await self._attempt()
            if pause_s:
                await self._clock.sleep(pause_s)

    async def _attempt(self) -> float:
        """List if need be, watch until that ends; return the pause in seconds before the next."""
        watching_since = None
        failure: Exception | None = None
        try:
            if not self._version:
                await self._list()
            watching_since = self._clock.monotonic()
            if await self._watch_until_renewed():
                return 0.0
        except ApiError as error:
            failure = error
        except Exception as error:
            log.exception("a failure that nobody foresaw: listing again", kind=self.status.kind)
            failure = error
        lasted_s = self._clock.monotonic() - watching_since if watching_since is not None else 0.0
        if lasted_s >= self._pace.healthy_s:
            self._backoff.reset()
            if failure is None:
                return 0.0
        if failure is not None:
            self._failed(failure)
        return self._backoff.next_delay_s(getattr(failure, "retry_after_s", 0.0))

    def _failed(self, failure: Exception) -> None:
        if isinstance(failure, GoneError | MalformedError) or not isinstance(failure, ApiError):
            self._version = ""  # what cannot be read would come again from the same version
        message = str(failure) or type(failure).__name__
        first = self.status.stale_since is None
        if message != self.status.last_error or first:
            log.warning("cannot follow the API server", kind=self.status.kind, error=message)
        self.status.failed(message, self._clock.now())
        self._store.waiting(message)

    async def _list(self) -> None:
        self.status.lists += 1
        seen: set[str] = set()
        listing = Listing(self._api, self._resource, self._pace.page_size, self._list_version)
        try:
            async with contextlib.aclosing(listing.batches()) as batches:
                async for batch in batches:
                    await self._take(batch, seen)
        finally:
            # What the server has in memory is cheap and may lag behind what we know already,
            # and if it is too much to be sent at once, only pages from the store remain.
            if listing.answered:
                self._list_version = FROM_THE_STORE
        for uid in self._store.uids() - seen:
            self._store.remove(uid)
        self._version = listing.version
        self.status.synced = True
        self.synced.set()
        self._store.listed()
        log.info("listed", kind=self.status.kind, objects=len(seen), version=listing.version)

    async def _take(self, batch: Batch[T], seen: set[str]) -> None:
        for turn, item in enumerate(batch.items):
            if turn % ITEMS_A_TURN == 0:
                await asyncio.sleep(0)
            uid = self._put(batch.encoding, item)
            if uid:
                seen.add(uid)

    def _put(self, encoding: Encoding[T], item: Any) -> str:
        """Store one object of a list; return its uid, "" if not even that can be read."""
        decoded = self._decoded(encoding, item)
        if decoded is None:  # what was known of it stays
            identity = encoding.identity(item)
            return identity.uid if identity else ""
        self._store.put(decoded)
        return decoded.metadata.uid

    def _decoded(self, encoding: Encoding[T], item: Any) -> T | None:
        """The object; None if it cannot be decoded, which is counted, and logged once."""
        try:
            return encoding.item(item)
        except UndecodableError as error:
            complaint = str(error)
        self.status.undecodable += 1
        if complaint not in self._complaints and len(self._complaints) < UNDECODABLE_LOGGED:
            self._complaints.add(complaint)
            identity = encoding.identity(item)
            name = identity.name if identity else "(without a name)"
            log.error("an object cannot be read", kind=self.status.kind, name=name, why=complaint)
        return None

    async def _watch_until_renewed(self) -> bool:
        """Watch; whether that was ended by `renew`."""
        try:
            async with asyncio.timeout(None) as self._watching:
                await self._watch()
        except TimeoutError:  # of nothing else: see `ApiError`
            return True
        finally:
            self._watching = None
        return False

    async def _watch(self) -> None:
        async with self._api.watch(
            self._resource,
            version=self._version,
            watch_s=self._pace.watch_s,
            margin_s=self._pace.margin_s,
        ) as stream:
            frames = stream.encoding.frames()
            self.status.connected()
            self._opened.set()
            self._opened = asyncio.Event()
            async for data in stream.chunks:
                for frame in frames.feed(data):
                    self._take_event(stream.encoding, stream.encoding.event(frame))

    def _take_event(self, encoding: Encoding[T], event: Event) -> None:
        if event.type == "ERROR":
            status = encoding.status(event.item)
            raise refusal_in_stream(status.code, status.message or status.reason)
        if event.type == "BOOKMARK":
            self._take_bookmark(encoding.identity(event.item))
            return
        self.status.events += 1
        # Of a deleted object nothing but its identity matters, and may be readable.
        decoded = None if event.type == "DELETED" else self._decoded(encoding, event.item)
        identity = _identity(decoded) if decoded is not None else encoding.identity(event.item)
        if identity is None:
            return
        if is_older(identity.version, self._version):
            self.status.outdated += 1
            return
        self._version = identity.version or self._version
        if decoded is not None:
            self._store.put(decoded)
        elif event.type == "DELETED":
            self._store.remove(identity.uid)

    def _take_bookmark(self, bookmark: Identity | None) -> None:
        """A server that is behind what it has told before was restored from a backup."""
        self.status.bookmarks += 1
        version = bookmark.version if bookmark else ""
        if is_older(version, self._version):
            raise GoneError(f"watch: the server's version went back, {self._version} to {version}")
        self._version = version or self._version


def _identity(item: KubeObject) -> Identity:
    return Identity(item.metadata.uid, "", item.metadata.resource_version)
