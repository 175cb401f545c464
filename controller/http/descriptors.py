"""What is asked of protobuf descriptors in more than one place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message


def type_of(message: Message) -> Descriptor:
    """The message's type. protobuf's stubs allow for another class of the same shape."""
    return cast("Descriptor", message.DESCRIPTOR)


def map_entry(field: FieldDescriptor) -> Mapping[str, FieldDescriptor] | None:
    """A map's fields "key" and "value"; None for any other field."""
    entry = field.message_type
    if entry is None or not entry.GetOptions().map_entry:
        return None
    return entry.fields_by_name


def field_named(descriptor: Descriptor, name: str) -> FieldDescriptor | None:
    """The field with this proto name, or else this JSON name."""
    return _by_any_name(descriptor).get(name)


# protobuf's own look-ups fail on names that are not UTF-8, and callers send those too.
@cache
def _by_any_name(descriptor: Descriptor) -> Mapping[str, FieldDescriptor]:
    by_json_name = {field.json_name: field for field in descriptor.fields}
    return by_json_name | {field.name: field for field in descriptor.fields}


@cache
def numbers_by_name(enum: EnumDescriptor) -> Mapping[str, int]:
    """An enum's values, every alias among them."""
    return {value.name: value.number for value in enum.values}
