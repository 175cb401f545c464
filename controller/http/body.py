"""A request's JSON body into its message, or into the one field that the annotation names."""

from __future__ import annotations

import json

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from controller.http import json_text
from controller.http.descriptors import type_of
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
    _check_shape(field, value)
    try:
        shown = value if field is None else {field.name: value}
        json_format.ParseDict(shown, request, ignore_unknown_fields=True)
    except (ValueError, json_format.ParseError) as error:
        raise BadRequestError(f"proto: {error}") from None


def _check_shape(field: FieldDescriptor | None, value: object) -> None:
    """json_format takes much for an object that is none."""
    is_plain_message = field is None or (
        field.message_type is not None
        and not field.is_repeated
        and not has_own_form(field.message_type)
    )
    if is_plain_message and not isinstance(value, dict):
        shown = "[" if isinstance(value, list) else json.dumps(value)
        raise BadRequestError(f"proto: syntax error (line 1:1): unexpected token {shown}")
