"""What a reflector asks of a wire encoding of the Kubernetes API: pages, frames, events, objects.

An encoding finds the pieces first and decodes each object on its own, so that one that cannot be
decoded costs that object and not its page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import msgspec

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class UndecodableError(ValueError):
    """An object does not have the shape that the API promises."""


@dataclass(frozen=True, slots=True)
class Page:
    """What is known when a page of a list has been read to its end.

    Attributes:
        version: The resourceVersion of the whole list, the same on each of its pages.
        continue_token: Asks for the next page; "" on the last.
        items: Objects that have not been handed out before, still encoded, for `Encoding.item`.
    """

    version: str
    continue_token: str
    items: list[Any]


class PageReader(Protocol):
    """Finds the objects of one page while it comes in."""

    def feed(self, data: bytes) -> list[Any]:
        """Take more bytes; return the objects that are now whole, for `Encoding.item`.

        An encoding may as well keep all of them for `finish`.

        Raises:
            MalformedError: this is no list.
        """

    def finish(self) -> Page:
        """All bytes are there. Raises MalformedError."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a watch: ``type`` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.

    ``item`` is the object, still encoded, for `Encoding.item`; of an ERROR it is a Status.
    """

    type: str
    item: Any


class Status(msgspec.Struct, frozen=True, gc=False):
    """What the API server says when it refuses. ``code`` is an HTTP status."""

    code: int = 0
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """The metadata of an object of any kind. A bookmark has a version and nothing else."""

    uid: str
    name: str
    version: str


class Frames(Protocol):
    """Cuts a stream of bytes into events, wherever the network cut it."""

    def feed(self, data: bytes) -> list[bytes]:
        """Take more bytes; return the events that are now whole.

        Raises:
            MalformedError: no event can be that long.
        """


class Encoding(Protocol[T_co]):
    """One way to write objects of one kind."""

    media_type: str
    """As in Content-Type, without parameters."""

    def page_reader(self) -> PageReader:
        """For a new page."""

    def frames(self) -> Frames:
        """For a new watch."""

    def event(self, frame: bytes) -> Event:
        """Split an event. Raises MalformedError."""

    def item(self, item: Any) -> T_co:
        """Decode one object. Raises UndecodableError."""

    def identity(self, item: Any) -> Identity | None:
        """The metadata of one object, whatever the rest of it is like; None if it has none."""

    def status(self, item: Any) -> Status:
        """Decode the object of an ERROR event; an empty one where that fails."""

    def refusal(self, body: bytes) -> Status:
        """Decode the body of an HTTP error; an empty one where that fails."""


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A kind of objects that can be listed and watched.

    Attributes:
        kind: In the plural, for messages: "pods".
        path: Under the API server's address: "/api/v1/pods".
        encodings: Those we read, the most wanted first.
        needed: Said where the request is forbidden: which rights it takes.
    """

    kind: str
    path: str
    encodings: tuple[Encoding[T], ...]
    needed: str = "the controller's role must allow list and watch of pods and nodes"

    @property
    def accept(self) -> str:
        """The value of the Accept header."""
        return ", ".join(encoding.media_type for encoding in self.encodings)

    def encoding_of(self, media_type: str) -> Encoding[T] | None:
        """The encoding that the server chose."""
        for encoding in self.encodings:
            if encoding.media_type == media_type:
                return encoding
        return None


def is_older(version: str, than: str) -> bool:
    """Whether a resourceVersion comes before another. They are numbers to all known servers."""
    return version.isdigit() and than.isdigit() and int(version) < int(than)
