"""The types of google.protobuf that fit into one query parameter, read as grpc-gateway does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from google.protobuf import (
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    json_format,
    struct_pb2,
    timestamp_pb2,
)
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from controller.http import scalars, well_known
from controller.http.errors import BadRequestError
from controller.http.go_quote import quote

_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})", re.ASCII
)
_RFC3339_LAYOUT = '"2006-01-02T15:04:05.999999999Z07:00"'
_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_UNIT_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": well_known.NANOS,
    "m": 60 * well_known.NANOS,
    "h": 3600 * well_known.NANOS,
}
_MAX_DURATION_NS = (1 << 63) - 1

M = TypeVar("M", bound=Message)


def read_message(descriptor: Descriptor, text: str) -> Message:
    """``text`` as a message of this type.

    Raises:
        BadRequestError: it is not one, or no parameter can hold this type.
    """
    if descriptor.full_name in well_known.WRAPPERS:
        read = scalars.READERS[descriptor.fields_by_name["value"].type]
        return GetMessageClass(descriptor)(value=read(text))
    reader = _READERS.get(descriptor.full_name)
    if reader is None:
        raise BadRequestError(f"unsupported message type: {quote(descriptor.full_name)}")
    return reader(text)


def read_timestamp(text: str) -> timestamp_pb2.Timestamp:
    """RFC 3339, digits beyond the nanosecond dropped."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise BadRequestError(
            f"parsing time {quote(text)} as {_RFC3339_LAYOUT}: cannot parse {quote(text)} as time"
        )
    second, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(second + zone.replace("Z", "+00:00"))
    except ValueError as error:
        raise BadRequestError(f"parsing time {quote(text)}: {error}") from None
    seconds = _seconds_since_epoch(moment)
    if seconds < well_known.MIN_TIMESTAMP_S:
        raise BadRequestError(f"{text} before 0001-01-01")
    return timestamp_pb2.Timestamp(seconds=seconds, nanos=_nanos(fraction))


def _seconds_since_epoch(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86_400 + since.seconds


def _nanos(fraction: str | None) -> int:
    return int((fraction or "")[:9].ljust(9, "0"))


def read_duration(text: str) -> duration_pb2.Duration:
    """As Go's time.ParseDuration: ``1h2m3.5s``, ``-10ms``, ``0``."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("-", "+") and text else text
    if rest == "0":
        return duration_pb2.Duration()
    if not rest:
        raise BadRequestError(f"time: invalid duration {quote(text)}")
    total = 0
    while rest:
        part = _DURATION_PART.match(rest)
        if part is None or not (part.group(1) or part.group(2)):
            raise BadRequestError(f"time: invalid duration {quote(text)}")
        total += _part_ns(text, *part.groups())
        rest = rest[part.end() :]
    if total > _MAX_DURATION_NS:
        raise BadRequestError(f"time: invalid duration {quote(text)}")
    seconds, nanos = divmod(total, well_known.NANOS)
    return duration_pb2.Duration(seconds=sign * seconds, nanos=sign * nanos)


def _part_ns(text: str, whole: str, fraction: str | None, unit: str) -> int:
    if not unit:
        raise BadRequestError(f"time: missing unit in duration {quote(text)}")
    if unit not in _UNIT_NS:
        raise BadRequestError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
    if len(whole.lstrip("0")) > len(str(_MAX_DURATION_NS)):
        raise BadRequestError(f"time: invalid duration {quote(text)}")
    shown = (fraction or "")[:18]
    parts = int((whole or "0") + shown) * _UNIT_NS[unit]
    return int(parts // 10 ** len(shown))


def _read_field_mask(text: str) -> field_mask_pb2.FieldMask:
    return field_mask_pb2.FieldMask(paths=text.split(",") if text else ())


def _read_empty(text: str) -> empty_pb2.Empty:
    if text not in ("", "{}"):
        raise BadRequestError(f'expected an empty value or "{{}}", got {quote(text)}')
    return empty_pb2.Empty()


def _read_value(text: str) -> struct_pb2.Value:
    return _read_json(text, struct_pb2.Value())


def _read_struct(text: str) -> struct_pb2.Struct:
    message = struct_pb2.Struct()
    if not isinstance(_json(text), dict):
        raise BadRequestError(f"unexpected token {text}")
    return _read_json(text, message)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadRequestError(f"syntax error: {error}") from None


def _read_json(text: str, message: M) -> M:
    try:
        return json_format.ParseDict(_json(text), message)
    except json_format.ParseError as error:
        raise BadRequestError(str(error)) from None


_READERS: Mapping[str, Callable[[str], Message]] = {
    "google.protobuf.Timestamp": read_timestamp,
    "google.protobuf.Duration": read_duration,
    "google.protobuf.FieldMask": _read_field_mask,
    "google.protobuf.Empty": _read_empty,
    "google.protobuf.Value": _read_value,
    "google.protobuf.Struct": _read_struct,
}
