"""A request's JSON body into its message, or into the one field that the annotation names."""

from __future__ import annotations

import json

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from controller.http import json_text
from controller.http.descriptors import field_named, map_entry, type_of
from controller.http.errors import BadRequestError
from controller.http.routes import WHOLE_BODY
from controller.http.well_known import has_own_form


def merge_body(request: Message, field_name: str, body: bytes) -> None:
    """Merge the first JSON value of ``body``; an empty body changes nothing.

    Fields that the message does not have are passed over.

    Raises:
        BadRequestError: it is not JSON, or not of the message's shape.
    """
    field: FieldDescriptor | None = None
    if field_name != WHOLE_BODY:
        field = type_of(request).fields_by_name[field_name]
        if field.message_type is not None and not field.is_repeated:
            getattr(request, field_name).SetInParent()
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise BadRequestError(f"proto: syntax error: invalid UTF-8: {error.reason}") from None
    if not text.strip():
        return
    value = json_text.decode_first(text)
    if field is None:
        _check_message(type_of(request), value)
    else:
        _check_member(field, value)
        value = {field.name: value}
    try:
        json_format.ParseDict(value, request, ignore_unknown_fields=True)
    except (ValueError, json_format.ParseError) as error:
        raise BadRequestError(f"proto: {error}") from None


def _check_message(descriptor: Descriptor, value: object) -> None:
    """Refuse what json_format would take for an object and is none; it looks at the rest."""
    if has_own_form(descriptor):
        return
    if not isinstance(value, dict):
        shown = "[" if isinstance(value, list) else json.dumps(value)
        raise BadRequestError(f"proto: syntax error: unexpected token {shown}")
    for name, member in value.items():
        field = field_named(descriptor, name)
        if field is not None and member is not None:
            _check_member(field, member)


def _check_member(field: FieldDescriptor, value: object) -> None:
    entry = map_entry(field)
    if entry is not None:
        if not isinstance(value, dict):
            raise BadRequestError(f"proto: syntax error: unexpected token in map {field.name}")
        if entry["value"].message_type is not None:
            for item in value.values():
                _check_message(entry["value"].message_type, item)
    elif field.message_type is not None and not field.is_repeated:
        _check_message(field.message_type, value)
    elif field.message_type is not None and isinstance(value, list):
        for item in value:
            _check_message(field.message_type, item)
