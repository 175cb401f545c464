r"""The protobuf encoding of the Kubernetes API.

15 us a pod of 22 kB here, and a third of what JSON costs the server. Every answer is the four
bytes "k8s\0" and an Unknown whose ``raw`` is the object. A list is taken apart while it comes in,
as the server may send a whole cluster's in one piece. A watch is a sequence of frames, each four
bytes of length and a WatchEvent, in which the object is wrapped as above.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from google.protobuf.message import DecodeError, Message

from gpupods.kube.encoding import Event, Identity, Page, Status, UndecodableError
from gpupods.kube.failures import MalformedError
from gpupods.kube.json_encoding import MAX_EVENT_BYTES
from gpupods.kube_api import objects_pb2

T = TypeVar("T")
M = TypeVar("M", bound=Message)

MAGIC = b"k8s\0"

RAW_TAG = 2 << 3 | 2
"""Of Unknown.raw."""
METADATA_TAG = 1 << 3 | 2
ITEMS_TAG = 2 << 3 | 2
"""Of a list: PodList, NodeList and all others agree on these."""

LONGEST_TAG_AND_LENGTH = 20


class ProtobufEncoding(Generic[M, T]):
    """Objects that are ``message`` on the wire; ``convert`` makes of it what JSON would give."""

    media_type = "application/vnd.kubernetes.protobuf"

    def __init__(self, message: type[M], convert: Callable[[M], T]) -> None:
        self._parse: Callable[[bytes], M] = message.FromString
        self._convert = convert

    def page_reader(self) -> ProtobufPage:
        """For a new page."""
        return ProtobufPage()

    def frames(self) -> ProtobufFrames:
        """For a new watch."""
        return ProtobufFrames()

    def event(self, frame: bytes) -> Event:
        """Split an event."""
        try:
            event = objects_pb2.WatchEvent.FromString(frame)
        except DecodeError as error:
            raise MalformedError(f"a frame is not a watch event: {error}") from error
        return Event(event.type, _unwrapped(event.object.raw))

    def item(self, item: bytes) -> T:
        """Decode one object."""
        try:
            return self._convert(self._parse(item))
        except DecodeError as error:
            raise UndecodableError(str(error)) from error

    def identity(self, item: bytes) -> Identity | None:
        """The metadata alone."""
        try:
            metadata = objects_pb2.AnyObject.FromString(item).metadata
        except DecodeError:
            return None
        return Identity(metadata.uid, metadata.name, metadata.resource_version)

    def status(self, item: bytes) -> Status:
        """What the server has to say."""
        try:
            status = objects_pb2.Status.FromString(item)
        except DecodeError:
            return Status()
        return Status(status.code, status.reason, status.message)

    def refusal(self, body: bytes) -> Status:
        """What the server has to say."""
        try:
            return self.status(_unwrapped(body))
        except MalformedError:
            return Status()


def _unwrapped(body: bytes) -> bytes:
    if not body.startswith(MAGIC):
        raise MalformedError("an object of the protobuf encoding does not begin with k8s\\0")
    try:
        return objects_pb2.Unknown.FromString(body[len(MAGIC) :]).raw
    except DecodeError as error:
        raise MalformedError(f"an object of the protobuf encoding is broken: {error}") from error


class ProtobufPage:
    """Takes a list apart field by field, without ever holding the whole of it."""

    def __init__(self) -> None:
        self._rest = b""
        self._inside = False
        self._left = 0
        """Bytes of the list itself that are yet to be taken apart."""
        self._metadata = objects_pb2.ListMeta()

    def feed(self, data: bytes) -> list[Any]:
        """Take more bytes; return the objects that are now whole."""
        self._rest = self._rest + data if self._rest else data
        items: list[bytes] = []
        position = 0
        if not self._inside:
            position = self._enter()
        if self._inside:
            position = self._take(position, items)
        self._rest = self._rest[position:]
        return items

    def _enter(self) -> int:
        """Where the list begins; 0, and still outside, if that has not come yet."""
        if len(self._rest) < len(MAGIC):
            return 0
        if not self._rest.startswith(MAGIC):
            raise MalformedError("a list of the protobuf encoding does not begin with k8s\\0")
        position = len(MAGIC)
        while (head := _head(self._rest, position)) is not None:
            tag, length, start = head
            if tag == RAW_TAG:
                self._inside, self._left = True, length
                return start
            position = start + length
        return 0

    def _take(self, position: int, items: list[bytes]) -> int:
        """Move over whole fields of the list; return where the first unfinished one begins."""
        rest = self._rest
        while self._left and (head := _head(rest, position)) is not None:
            tag, length, start = head
            end = start + length
            if end > len(rest):
                break
            if tag == ITEMS_TAG:
                items.append(rest[start:end])
            elif tag == METADATA_TAG:
                self._metadata = _list_metadata(rest[start:end])
            self._left -= end - position
            position = end
        if self._left < 0:
            raise MalformedError("a list of the protobuf encoding has an item beyond its end")
        return position if self._left else len(rest)

    def finish(self) -> Page:
        """The list's own fields."""
        if not self._inside or self._left:
            raise MalformedError("a list of the protobuf encoding ends before its end")
        return Page(self._metadata.resource_version, self._metadata.continue_token, [])


def _list_metadata(data: bytes) -> objects_pb2.ListMeta:
    try:
        return objects_pb2.ListMeta.FromString(data)
    except DecodeError as error:
        raise MalformedError(f"a list of the protobuf encoding is broken: {error}") from error


def _head(data: bytes, position: int) -> tuple[int, int, int] | None:
    """Tag and length of a field and where its content begins; None if they are not whole yet.

    Only fields with a length occur at the levels that are taken apart here.
    """
    tag = _varint(data, position)
    length = _varint(data, tag[1]) if tag is not None else None
    if tag is None or length is None:
        if len(data) - position > LONGEST_TAG_AND_LENGTH:
            raise MalformedError("a list of the protobuf encoding has a number without end")
        return None
    if tag[0] & 7 != 2:  # noqa: PLR2004 - wire type "length-delimited"
        raise MalformedError("a list of the protobuf encoding has a field of an unexpected type")
    return tag[0], length[0], length[1]


def _varint(data: bytes, position: int) -> tuple[int, int] | None:
    value = 0
    for index in range(position, min(len(data), position + LONGEST_TAG_AND_LENGTH // 2)):
        byte = data[index]
        value |= (byte & 0x7F) << 7 * (index - position)
        if byte < 0x80:  # noqa: PLR2004 - the last byte of a number has no top bit
            return value, index + 1
    return None


class ProtobufFrames:
    """Cuts a stream into frames: four bytes of length, most significant first, then as many."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Take more bytes; return the frames that are now whole."""
        rest = self._rest + data if self._rest else data
        frames: list[bytes] = []
        position = 0
        while len(rest) - position >= 4:  # noqa: PLR2004 - the length's own length
            (length,) = struct.unpack_from(">I", rest, position)
            if length > MAX_EVENT_BYTES:
                raise MalformedError(f"a watch event of {length} bytes")
            end = position + 4 + length
            if end > len(rest):
                break
            frames.append(rest[position + 4 : end])
            position = end
        self._rest = rest[position:]
        return frames
