"""Query parameters and path variables into a request message, as grpc-gateway v2 does it.

A field is named by its proto name or its JSON name, a nested one by a path with dots, a map's
entry as ``field[key]``. Parameters that name no field are passed over. Every other surprise is a
BadRequestError with grpc-gateway's words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message

from controller.http import parameter_messages, scalars
from controller.http.descriptors import field_named, map_entry, type_of
from controller.http.errors import BadRequestError, UnencodableError
from controller.http.form import Form
from controller.http.go_quote import quote

_MAP_KEY = re.compile(r"(.*)\[(.*)\]")
_REPEATED_PATH_SEPARATOR = ","

Path = tuple[str, ...]


def populate_from_query(message: Message, form: Form, bound: Sequence[Path]) -> None:
    """Set the fields of ``message`` that ``form`` names, except those that are ``bound`` already.

    Raises:
        BadRequestError: a value cannot be read, or a field is given twice.
        UnencodableError: a string is not UTF-8.
    """
    seen: set[tuple[Path, str | None]] = set()
    unencodable = False
    for key, given in form.items():
        match = _MAP_KEY.fullmatch(key)
        name, map_key = match.groups() if match else (key, None)
        values = given if map_key is None else [map_key, *given]
        path = _normalise(type_of(message), tuple(name.split(".")))
        if any(_overlap(path, taken) for taken in bound):
            continue
        if (path, map_key) in seen:
            field = ".".join(path) + ("" if map_key is None else f"[{map_key}]")
            raise BadRequestError(f"duplicate field {quote(field)}")
        seen.add((path, map_key))
        try:
            _populate(message, path, values, has_map_key=map_key is not None)
        except UnencodableError:
            unencodable = True  # what cannot be read at all is told first
    if unencodable:
        raise UnencodableError


def populate_from_path(message: Message, variables: Mapping[str, str]) -> None:
    """Set the fields that a route's path variables name.

    Raises:
        BadRequestError: a value cannot be read.
        UnencodableError: a string is not UTF-8.
    """
    for name, text in variables.items():
        field = type_of(message).fields_by_name.get(name)
        try:
            if field is None:
                _populate(message, tuple(name.split(".")), [text], has_map_key=False)
            elif field.is_repeated:
                items = text.split(_REPEATED_PATH_SEPARATOR)
                getattr(message, name).extend(_read_path_value(field, item) for item in items)
            else:
                _set(message, field, _read_path_value(field, text))
        except BadRequestError as error:
            raise BadRequestError(f"type mismatch, parameter: {name}, error: {error}") from None


def _read_path_value(field: FieldDescriptor, text: str) -> Any:
    """As `_read_value`; grpc-gateway only words it otherwise if an enum has no such value."""
    try:
        return _read_value(field, text)
    except BadRequestError as error:
        if field.enum_type is not None:
            raise BadRequestError(f"{text} is not valid") from None
        raise error from None


def _overlap(path: Path, bound: Path) -> bool:
    shorter = min(len(path), len(bound))
    return path[:shorter] == bound[:shorter]


def _normalise(descriptor: Descriptor, path: Path) -> Path:
    """``path`` in proto names; as it was if it leads nowhere."""
    names = []
    for position, name in enumerate(path, start=1):
        field = field_named(descriptor, name)
        if field is None:
            return path
        names.append(field.name)
        if position < len(path):
            if field.message_type is None or field.is_repeated:
                return path
            descriptor = field.message_type
    return tuple(names)


def _populate(message: Any, path: Path, values: Sequence[str], *, has_map_key: bool) -> None:
    *parents, last = path
    for name in parents:
        field = field_named(message.DESCRIPTOR, name)
        if field is None:
            return
        _check_oneof(message, field)
        if field.message_type is None or field.is_repeated:
            raise BadRequestError(f"invalid path: {quote(name)} is not a message")
        message = getattr(message, field.name)
        message.SetInParent()
    field = field_named(message.DESCRIPTOR, last)
    if field is None:
        return
    _check_oneof(message, field)
    entry = map_entry(field)
    if entry is not None:
        _put_in_map(message, field, entry, values)
    elif has_map_key:
        raise BadRequestError(f"field {quote(field.name)} is not a map")
    elif field.is_repeated:
        _extend_list(message, field, values)
    elif len(values) > 1:
        raise BadRequestError(f"too many values for field {quote(field.name)}: {', '.join(values)}")
    else:
        _set(message, field, _read(f"parsing field {quote(field.name)}", field, values[0]))


def _check_oneof(message: Message, field: FieldDescriptor) -> None:
    oneof: OneofDescriptor | None = field.containing_oneof
    if oneof is None or _is_synthetic(oneof):
        return
    chosen = message.WhichOneof(oneof.name)
    if chosen is not None and (field.message_type is None or chosen != field.name):
        raise BadRequestError(f"field already set for oneof {quote(oneof.name)}")


def _is_synthetic(oneof: OneofDescriptor) -> bool:
    """Whether protoc made it for an ``optional`` field; a person's oneof cannot be so named."""
    return len(oneof.fields) == 1 and oneof.name == f"_{oneof.fields[0].name}"


def _extend_list(message: Message, field: FieldDescriptor, values: Sequence[str]) -> None:
    items = getattr(message, field.name)
    for text in values:
        items.append(_read(f"parsing list {quote(field.name)}", field, text))


def _put_in_map(
    message: Message,
    field: FieldDescriptor,
    entry: Mapping[str, FieldDescriptor],
    values: Sequence[str],
) -> None:
    if len(values) != 2:  # noqa: PLR2004 - the key and its one value
        raise BadRequestError(
            f"more than one value provided for key {quote(values[0])}"
            f" in map {quote(field.full_name)}"
        )
    key = _read(f"parsing map key {quote(field.name)}", entry["key"], values[0])
    value = _read(f"parsing map value {quote(field.name)}", entry["value"], values[1])
    entries = getattr(message, field.name)
    if isinstance(value, Message):
        entries[key].CopyFrom(value)
    else:
        entries[key] = value


def _set(message: Message, field: FieldDescriptor, value: object) -> None:
    if isinstance(value, Message):
        child = getattr(message, field.name)
        child.CopyFrom(value)
        child.SetInParent()
    else:
        setattr(message, field.name, value)


def _read(doing: str, field: FieldDescriptor, text: str) -> Any:
    try:
        return _read_value(field, text)
    except BadRequestError as error:
        raise BadRequestError(f"{doing}: {error}") from None


def _read_value(field: FieldDescriptor, text: str) -> Any:
    """``text`` as a value of the field's type, whether or not the field is repeated."""
    if field.message_type is not None:
        return parameter_messages.read_message(field.message_type, text)
    if field.enum_type is not None:
        return scalars.read_enum(field.enum_type, text)
    return scalars.READERS[field.type](text)
