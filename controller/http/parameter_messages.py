"""The types of google.protobuf that fit into one query parameter, read as grpc-gateway does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

from controller.http import go_time, json_text, scalars, well_known
from controller.http.errors import BadRequestError
from controller.http.go_quote import quote

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


def _read_timestamp(text: str) -> timestamp_pb2.Timestamp:
    seconds, nanos = go_time.read_rfc3339(text)
    if seconds < well_known.MIN_TIMESTAMP_S or seconds > well_known.MAX_TIMESTAMP_S:
        raise BadRequestError(f"{text} before 0001-01-01")
    return timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos)


def _read_duration(text: str) -> duration_pb2.Duration:
    nanos = go_time.read_duration_ns(text)
    message = duration_pb2.Duration()
    message.FromNanoseconds(nanos)
    return message


def _read_field_mask(text: str) -> field_mask_pb2.FieldMask:
    paths = scalars.read_string(text).split(",") if text else ()
    return field_mask_pb2.FieldMask(paths=paths)


def _read_empty(text: str) -> empty_pb2.Empty:
    if text not in ("", "{}"):
        raise BadRequestError(f'expected an empty value or "{{}}", got {quote(text)}')
    return empty_pb2.Empty()


def _read_value(text: str) -> struct_pb2.Value:
    return _read_json(json_text.decode(text), struct_pb2.Value())


def _read_struct(text: str) -> struct_pb2.Struct:
    value = json_text.decode(text)
    if not isinstance(value, dict):
        raise BadRequestError(f"proto: syntax error (line 1:1): unexpected token {text}")
    return _read_json(value, struct_pb2.Struct())


def _read_json(value: Any, message: M) -> M:
    try:
        return json_format.ParseDict(value, message)
    except (ValueError, json_format.ParseError) as error:
        raise BadRequestError(f"proto: {error}") from None


_READERS: Mapping[str, Callable[[str], Message]] = {
    "google.protobuf.Timestamp": _read_timestamp,
    "google.protobuf.Duration": _read_duration,
    "google.protobuf.FieldMask": _read_field_mask,
    "google.protobuf.Empty": _read_empty,
    "google.protobuf.Value": _read_value,
    "google.protobuf.Struct": _read_struct,
}
