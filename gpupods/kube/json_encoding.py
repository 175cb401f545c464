"""The JSON encoding of the Kubernetes API, by msgspec: 30 us a pod of 22 kB."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from gpupods.kube.encoding import Event, Identity, Page, Status, UndecodableError
from gpupods.kube.failures import MalformedError
from gpupods.kube.objects import AnyObject

T = TypeVar("T")

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""etcd holds objects of 1.5 MB by default: a line far beyond that is no event."""


class _ListMeta(
    msgspec.Struct,
    frozen=True,
    gc=False,
    rename={"version": "resourceVersion", "token": "continue"},
):
    version: str = ""
    token: str = ""


class _List(msgspec.Struct, frozen=True, gc=False):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _Event(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: msgspec.Raw


_decode_list = msgspec.json.Decoder(_List).decode
_decode_event = msgspec.json.Decoder(_Event).decode
_decode_any = msgspec.json.Decoder(AnyObject).decode
_decode_status = msgspec.json.Decoder(Status).decode


class JsonEncoding(Generic[T]):
    """Objects of ``kind``, a msgspec.Struct."""

    media_type = "application/json"

    def __init__(self, kind: type[T]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode

    def page_reader(self) -> JsonPage:
        """For a new page."""
        return JsonPage()

    def frames(self) -> Lines:
        """One event a line."""
        return Lines()

    def event(self, frame: bytes) -> Event:
        """Split an event."""
        try:
            event = _decode_event(frame)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise MalformedError(f"a line is not a watch event: {error}") from error
        return Event(event.type, event.object)

    def item(self, item: msgspec.Raw) -> T:
        """Decode one object."""
        try:
            return self._decode(item)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UndecodableError(str(error)) from error

    def identity(self, item: msgspec.Raw) -> Identity | None:
        """The metadata alone."""
        try:
            metadata = _decode_any(item).metadata
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        return Identity(metadata.uid, metadata.name, metadata.resource_version)

    def status(self, item: msgspec.Raw) -> Status:
        """What the server has to say."""
        return read_status(item)

    def refusal(self, body: bytes) -> Status:
        """What the server has to say."""
        return read_status(body)


def read_status(body: bytes | msgspec.Raw) -> Status:
    """A Status object, or an empty one where the body is something else."""
    try:
        return _decode_status(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Status()


class JsonPage:
    """A page of a list. msgspec cannot begin before it is whole."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> list[Any]:
        """Keep the bytes."""
        self._pieces.append(data)
        return []

    def finish(self) -> Page:
        """Split the page."""
        try:
            page = _decode_list(b"".join(self._pieces))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise MalformedError(f"a page is not a Kubernetes list: {error}") from error
        return Page(page.metadata.version, page.metadata.token, page.items or [])


class Lines:
    """Cuts a stream at line ends. aiohttp's own readline refuses a pod of over 128 kB."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Take more bytes; return the lines that are now whole, without empty ones."""
        head, newline, tail = data.rpartition(b"\n")
        if not newline:
            self._rest += data
            if len(self._rest) > MAX_EVENT_BYTES:
                raise MalformedError(f"a watch event of over {MAX_EVENT_BYTES} bytes")
            return []
        whole = bytes(self._rest) + head if self._rest else head
        self._rest = bytearray(tail)
        return [line for line in whole.split(b"\n") if line.strip()]
