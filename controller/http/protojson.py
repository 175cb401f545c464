"""Messages to JSON bytes as grpc-gateway writes them: protojson with unpopulated fields emitted.

64-bit integers are strings, enums are names, bytes are base64, an unset message field is null,
an unset member of a oneof (and an unset `optional` field) is left out. Each message type is
looked at once, when a function is made for it that does no more than its fields need. The types
of google.protobuf are in `well_known`.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import Any

import msgspec
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from controller.http import well_known
from controller.http.descriptors import map_entry, type_of

Convert = Callable[[Any], Any]
"""A field's Python value (or a message) -> what msgspec writes as its JSON."""

_NULL_VALUE = "google.protobuf.NullValue"
_FLOAT32_DIGITS = range(1, 10)

_encode = msgspec.json.Encoder().encode
_raw = msgspec.Raw
_converters: dict[Descriptor, Convert] = {}


def to_json(message: Message) -> bytes:
    """``message`` as UTF-8 JSON.

    Raises:
        ValueError: it holds what JSON cannot show, such as a Timestamp after the year 9999.
    """
    return _encode(converter(type_of(message))(message))


def field_to_json(message: Message, name: str) -> bytes:
    """One field of ``message`` as JSON, for a method with ``response_body``."""
    field = type_of(message).fields_by_name[name]
    return _encode(_any_cardinality(field)(getattr(message, name)))


def converter(descriptor: Descriptor) -> Convert:
    """The conversion for messages of this type, made on first use."""
    known = _converters.get(descriptor)
    if known is None:
        # A message may hold its own type: whoever asks meanwhile gets one that looks again.
        _converters[descriptor] = lambda message: converter(descriptor)(message)  # noqa: PLW0108
        known = _well_known(descriptor) or _plain_message(descriptor)
        _converters[descriptor] = known
    return known


def _well_known(descriptor: Descriptor) -> Convert | None:
    if descriptor.full_name in well_known.WRAPPERS:
        change = _singular(descriptor.fields_by_name["value"])
        return lambda message: change(message.value)
    if descriptor.full_name == well_known.ANY:
        return _any
    return well_known.TO_JSON.get(descriptor.full_name)


def _any(message: Any) -> dict[str, object]:
    if not message.type_url and not message.value:
        return {}
    inner = well_known.unpack(message)
    shown = converter(type_of(inner))(inner)
    if well_known.has_own_form(type_of(inner)):
        return {"@type": message.type_url, "value": shown}
    return {"@type": message.type_url, **shown}


def _plain_message(descriptor: Descriptor) -> Convert:
    always = [field for field in descriptor.fields if field.containing_oneof is None]
    convert = _dict_maker(always)
    optional = [
        (field.name, field.json_name, _any_cardinality(field))
        for field in descriptor.fields
        if field.containing_oneof is not None
    ]
    if not optional:
        return convert

    def convert_with_optional(message: Any) -> dict[str, object]:
        shown: dict[str, object] = convert(message)
        for name, json_name, change in optional:
            if message.HasField(name):
                shown[json_name] = change(getattr(message, name))
        return shown

    return convert_with_optional


def _dict_maker(fields: Sequence[FieldDescriptor]) -> Convert:
    """One dict display, ``{"pid": m.pid, "owner": ... if m.HasField("owner") else None}``.

    Python code is made of the fields' names, as the standard library's namedtuple does it: a loop
    over the fields takes half as long again.
    """
    changes: dict[str, Any] = {}
    members = []
    for field in fields:
        value = f"getattr(m, {field.name!r})" if iskeyword(field.name) else f"m.{field.name}"
        change = _any_cardinality(field)
        if change is not _as_it_is:
            changes[f"change_{field.index}"] = change
            value = f"change_{field.index}({value})"
        if field.has_presence:
            value = f"{value} if m.HasField({field.name!r}) else None"
        members.append(f"{field.json_name!r}: {value}")
    made: Convert = eval(f"lambda m: {{{', '.join(members)}}}", changes)  # noqa: S307 - names only
    return made


def _any_cardinality(field: FieldDescriptor) -> Convert:
    if not field.is_repeated:
        return _singular(field)
    entry = map_entry(field)
    if entry is not None:
        return _map(entry)
    change = _singular(field)
    if change is _as_it_is:
        return list
    if field.message_type is not None:
        # Thousands of rows as dicts are a quarter of the time for the garbage collector alone.
        return lambda items: [_raw(_encode(change(item))) for item in items]
    if field.enum_type is not None and field.enum_type.full_name != _NULL_VALUE:
        get = _names(field.enum_type).get
        return lambda numbers: [get(number, number) for number in numbers]
    return lambda items: [change(item) for item in items]


def _map(entry: Mapping[str, FieldDescriptor]) -> Convert:
    """An object whose keys are sorted as the key's own type sorts, then written as strings."""
    key_type = entry["key"].type
    change = _singular(entry["value"])
    if key_type == FieldDescriptor.TYPE_STRING:
        return lambda entries: {key: change(entries[key]) for key in sorted(entries)}
    write_key = _boolean_key if key_type == FieldDescriptor.TYPE_BOOL else str
    return lambda entries: {write_key(key): change(entries[key]) for key in sorted(entries)}


def _singular(field: FieldDescriptor) -> Convert:
    if field.message_type is not None:
        return converter(field.message_type)
    if field.enum_type is not None:
        return _enum(field.enum_type)
    return _CHANGED_SCALARS.get(field.type, _as_it_is)


def _enum(enum: EnumDescriptor) -> Convert:
    if enum.full_name == _NULL_VALUE:
        return lambda _number: None
    get = _names(enum).get
    return lambda number: get(number, number)


def _names(enum: EnumDescriptor) -> Mapping[int, str]:
    """The first name of each number is the one that is written; without one, the number is."""
    return {value.number: value.name for value in reversed(enum.values)}


def _as_it_is(value: Any) -> Any:
    return value


def _boolean_key(key: bool) -> str:  # noqa: FBT001 - a map's key
    return "true" if key else "false"


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _float(value: float) -> float | str:
    """As `_double`, in the fewest digits that give the same 32-bit number back."""
    if not math.isfinite(value):
        return _double(value)
    shown = (float(f"{value:.{digits}g}") for digits in _FLOAT32_DIGITS)
    return next((shortest for shortest in shown if _as_float32(shortest) == value), value)


def _as_float32(value: float) -> float:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.inf
    return rounded


_CHANGED_SCALARS: Mapping[int, Convert] = {
    FieldDescriptor.TYPE_INT64: str,
    FieldDescriptor.TYPE_UINT64: str,
    FieldDescriptor.TYPE_SINT64: str,
    FieldDescriptor.TYPE_FIXED64: str,
    FieldDescriptor.TYPE_SFIXED64: str,
    FieldDescriptor.TYPE_DOUBLE: _double,
    FieldDescriptor.TYPE_FLOAT: _float,
    FieldDescriptor.TYPE_BYTES: _base64,
}
