"""Text in double quotes as Go's strconv.Quote gives it, for messages that repeat a value."""

from __future__ import annotations

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_LAST_NARROW = 0x7F
_LAST_WIDE = 0xFFFF
_FIRST_BYTE = 0xDC00
"""Where surrogateescape puts the bytes that are no UTF-8."""


def quote(text: str) -> str:
    r"""``text`` quoted; bytes that were no UTF-8 (lone surrogates here) as ``\xff``."""
    return '"' + "".join(_escape(character) for character in text) + '"'


def quote_ascii(text: str) -> str:
    r"""As Go's time package quotes: every byte that is not printable ASCII as ``\x..``."""
    encoded = text.encode("utf-8", "surrogateescape")
    return '"' + "".join(map(_escape_byte, encoded)) + '"'


def _escape_byte(byte: int) -> str:
    character = chr(byte)
    if byte >= _LAST_NARROW + 1 or byte < ord(" "):
        return f"\\x{byte:02x}"
    return "\\" + character if character in '"\\' else character


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    number = ord(character)
    if _FIRST_BYTE <= number <= _FIRST_BYTE + 0xFF:
        return f"\\x{number - _FIRST_BYTE:02x}"
    if number <= _LAST_NARROW:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= _LAST_WIDE else f"\\U{number:08x}"
