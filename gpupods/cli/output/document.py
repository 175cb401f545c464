"""An answer for programs: the JSON that the HTTP side gives, and the same as YAML.

Proto3 JSON with unpopulated fields emitted: 64-bit integers are strings, an unset message is
null, map keys are sorted. Pure.
"""

from __future__ import annotations

import json
from typing import Any

import yaml
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

Document = dict[str, Any]


def document(message: Message) -> Document:
    """``message`` as JSON values, its fields in the order of the contract."""
    ordered: Document = _ordered(
        message, MessageToDict(message, always_print_fields_with_no_presence=True)
    )
    return ordered


def as_json(message: Message) -> str:
    """Indented JSON; what a terminal might obey is written as an escape."""
    text = json.dumps(document(message), indent=2, ensure_ascii=False) + "\n"
    # Outside of strings everything is printable, and inside an escape means the same.
    return "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in text)


def as_yaml(message: Message) -> str:
    """YAML of the same document."""
    values = document(message)
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    if text.replace("\n", "").isprintable():
        return text
    return yaml.safe_dump(values, sort_keys=False)


def _ordered(message: Message, values: Any) -> Any:
    if not isinstance(values, dict):
        return values  # a well-known type, such as Timestamp, is a text
    ordered: Document = {}
    for field in message.DESCRIPTOR.fields:
        value = values.get(field.json_name)
        if value is not None and field.message_type is not None:
            value = _inside(getattr(message, field.name), value)
        ordered[field.json_name] = value
    return ordered


def _inside(content: Any, values: Any) -> Any:
    """A message, a list of messages, or a map whose values are messages."""
    if isinstance(content, Message):
        return _ordered(content, values)
    if isinstance(values, list):
        return [_ordered(*pair) for pair in zip(content, values, strict=True)]
    return {key: _ordered(content[key], values[key]) for key in sorted(values)}


def _escape(char: str) -> str:
    return "\\u007f" if char == "\x7f" else json.dumps(char)[1:-1]
