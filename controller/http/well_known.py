"""The types of google.protobuf that have JSON forms of their own.

How they are written is here; how they are read from one query parameter is in `scalars`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from google.protobuf import any_pb2, descriptor_pool, json_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from controller.http.go_quote import quote

ANY = "google.protobuf.Any"

WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
"""Messages around one scalar; their JSON is that scalar's."""

MIN_TIMESTAMP_S = -62135596800
MAX_TIMESTAMP_S = 253402300799
MAX_DURATION_S = 315576000000
NANOS = 1_000_000_000

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC throughout, and isoformat() adds no offset


def timestamp_to_json(message: Any) -> str:
    """RFC 3339 in UTC with 0, 3, 6 or 9 digits after the second.

    Raises:
        ValueError: before the year 1 or after 9999, or nanoseconds beyond a second.
    """
    second, nanos = _second(message.seconds), message.nanos
    if nanos == 0:
        return second + "Z"
    if not 0 <= nanos < NANOS:
        raise ValueError(f"google.protobuf.Timestamp: nanos out of range {nanos}")
    return second + _fraction(nanos) + "Z"


@lru_cache(maxsize=4096)
def _second(seconds: int) -> str:
    """Kept, because an answer names the same start times again and again."""
    if not MIN_TIMESTAMP_S <= seconds <= MAX_TIMESTAMP_S:
        raise ValueError(f"google.protobuf.Timestamp: seconds out of range {seconds}")
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()


def duration_to_json(message: Any) -> str:
    """Seconds with 0, 3, 6 or 9 digits after the point, and an s.

    Raises:
        ValueError: more than 10,000 years, or a sign that is not the same in both fields.
    """
    seconds, nanos = message.seconds, message.nanos
    if abs(seconds) > MAX_DURATION_S:
        raise ValueError(f"google.protobuf.Duration: seconds out of range {seconds}")
    if abs(nanos) >= NANOS:
        raise ValueError(f"google.protobuf.Duration: nanos out of range {nanos}")
    if seconds * nanos < 0:
        raise ValueError("google.protobuf.Duration: signs of seconds and nanos do not match")
    sign = "-" if seconds < 0 or nanos < 0 else ""
    return f"{sign}{abs(seconds)}{_fraction(abs(nanos))}s"


def _fraction(nanos: int) -> str:
    if nanos == 0:
        return ""
    return "." + f"{nanos:09d}".removesuffix("000").removesuffix("000")


def _as_json_format_does(message: Message) -> Any:
    try:
        return json_format.MessageToDict(message)
    except json_format.SerializeToJsonError as error:
        raise ValueError(f"{message.DESCRIPTOR.full_name}: {error}") from None


def _field_mask_to_json(message: Any) -> str:
    return ",".join(_camel_case_path(path) for path in message.paths)


def _camel_case_path(path: str) -> str:
    """``a_b.c_d`` as ``aB.cD``; only what can be turned back may be shown."""
    if not _PATH.fullmatch(path):
        raise ValueError(f"google.protobuf.FieldMask.paths contains invalid path: {quote(path)}")
    camel = re.sub(r"_([a-z])", lambda letter: letter.group(1).upper(), path)
    back = re.sub(r"[A-Z]", lambda letter: "_" + letter.group().lower(), camel)
    if back != path or "_" in camel:
        raise ValueError(
            f"google.protobuf.FieldMask.paths contains irreversible value {quote(path)}"
        )
    return camel


TO_JSON: Mapping[str, Callable[[Any], Any]] = {
    "google.protobuf.Timestamp": timestamp_to_json,
    "google.protobuf.Duration": duration_to_json,
    "google.protobuf.Empty": lambda _message: {},
    "google.protobuf.Struct": _as_json_format_does,
    "google.protobuf.Value": _as_json_format_does,
    "google.protobuf.ListValue": _as_json_format_does,
    "google.protobuf.FieldMask": _field_mask_to_json,
}
"""By full name: the message -> its JSON value. Wrappers and Any are `protojson`'s."""


def has_own_form(descriptor: Descriptor) -> bool:
    """Whether its JSON may be something else than an object of its fields."""
    name = descriptor.full_name
    return name in TO_JSON or name in WRAPPERS or name == ANY


def unpack(message: any_pb2.Any) -> Message:
    """The message that an Any carries.

    Raises:
        ValueError: its type is not given or not known here, or its bytes are not of that type.
    """
    if not message.type_url:
        raise ValueError("google.protobuf.Any: type_url is not set")
    name = message.type_url.rpartition("/")[2]
    try:
        descriptor = descriptor_pool.Default().FindMessageTypeByName(name)
        return GetMessageClass(descriptor).FromString(message.value)
    except KeyError:
        wanted = quote(message.type_url)
        raise ValueError(f"google.protobuf.Any: unable to resolve {wanted}: not found") from None
    except DecodeError as error:
        raise ValueError(
            f"google.protobuf.Any: unable to unmarshal {quote(message.type_url)}: {error}"
        ) from None
