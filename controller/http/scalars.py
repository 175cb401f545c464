"""One value of a query parameter or a path variable, read as grpc-gateway reads it.

That is as Go's strconv reads it, with its words for what is wrong.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable, Mapping

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

from controller.http.descriptors import numbers_by_name
from controller.http.errors import BadRequestError, UnencodableError
from controller.http.go_quote import quote

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_SIGNS = ("+", "-")
_DIGITS = re.compile(r"[0-9]+")
_UINT64_DIGITS = 20
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def read_bool(text: str) -> bool:
    """1, t, T, TRUE, true, True, and the same of 0 and false."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _wrong("ParseBool", text, "invalid syntax")


def read_int(text: str, bits: int) -> int:
    """A decimal number of ``bits`` bits with a sign."""
    sign = -1 if text.startswith("-") else 1
    value = sign * _digits("ParseInt", text, text[1:] if text[:1] in _SIGNS else text, bits)
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise _wrong("ParseInt", text, "value out of range")
    return value


def read_uint(text: str, bits: int) -> int:
    """A decimal number of ``bits`` bits; not even a plus sign."""
    return _digits("ParseUint", text, text, bits)


def _digits(function: str, text: str, unsigned: str, bits: int) -> int:
    """Go reads from the left: what is too large is told before what is no digit."""
    leading = _DIGITS.match(unsigned)
    digits = leading.group().lstrip("0") if leading else ""
    # Python would take its time over a number of a million digits.
    if len(digits) > _UINT64_DIGITS or int(digits or "0") >> bits:
        raise _wrong(function, text, "value out of range")
    if leading is None or leading.end() < len(unsigned):
        raise _wrong(function, text, "invalid syntax")
    return int(digits or "0")


def _wrong(function: str, text: str, what: str) -> BadRequestError:
    return BadRequestError(f"strconv.{function}: parsing {quote(text)}: {what}")


def read_float(text: str, bits: int) -> float:
    """A decimal number, or Infinity, -Infinity or NaN."""
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    if any(sign in text for sign in "xX_"):
        raise BadRequestError(f"invalid syntax {quote(text)}")
    if not _FLOAT.fullmatch(text):
        if text.lstrip("+-").lower() in ("inf", "infinity", "nan"):
            raise BadRequestError(f"invalid syntax {quote(text)}")
        raise _wrong("ParseFloat", text, "invalid syntax")
    value = float(text)
    if math.isinf(value) or (bits == 32 and _overflows_float32(value)):  # noqa: PLR2004
        raise _wrong("ParseFloat", text, "value out of range")
    return value


def _overflows_float32(value: float) -> bool:
    try:
        struct.pack("<f", value)
    except OverflowError:
        return True
    return False


def read_string(text: str) -> str:
    """Any UTF-8.

    Raises:
        UnencodableError: it holds bytes that are none.
    """
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise UnencodableError
    return text


def read_bytes(text: str) -> bytes:
    """Base64, of either alphabet, padded or not. Line breaks in it are passed over."""
    compact = text.replace("\r", "").replace("\n", "")
    if "-" in text or "_" in text:
        compact = compact.translate(str.maketrans("-_+/", "+/??"))
    if len(text) % 4:
        if "=" in compact:
            raise _illegal_base64(compact.index("="))
        if len(compact) % 4 == 1 and _BASE64.fullmatch(compact):
            raise _illegal_base64(len(compact) - 1)
        compact += "=" * (-len(compact) % 4)
    if not _BASE64.fullmatch(compact):
        raise _illegal_base64(_first_illegal(compact))
    try:
        return base64.b64decode(compact, validate=True)
    except binascii.Error:
        raise _illegal_base64(len(compact.rstrip("="))) from None


def _first_illegal(text: str) -> int:
    match = re.match(r"[A-Za-z0-9+/]*", text)
    return match.end() if match else 0


def _illegal_base64(position: int) -> BadRequestError:
    return BadRequestError(f"illegal base64 data at input byte {position}")


def read_enum(enum: EnumDescriptor, text: str) -> int:
    """A value's name, or the number of one that the enum has."""
    numbers = numbers_by_name(enum)
    if text in numbers:
        return numbers[text]
    try:
        number = read_int(text, 32)
    except BadRequestError:
        raise BadRequestError(f"{quote(text)} is not a valid value") from None
    if number not in numbers.values():
        raise BadRequestError(f"{quote(text)} is not a valid value")
    return number


def _int32(text: str) -> int:
    return read_int(text, 32)


def _int64(text: str) -> int:
    return read_int(text, 64)


def _uint32(text: str) -> int:
    return read_uint(text, 32)


def _uint64(text: str) -> int:
    return read_uint(text, 64)


READERS: Mapping[int, Callable[[str], object]] = {
    FieldDescriptor.TYPE_BOOL: read_bool,
    FieldDescriptor.TYPE_INT32: _int32,
    FieldDescriptor.TYPE_SINT32: _int32,
    FieldDescriptor.TYPE_SFIXED32: _int32,
    FieldDescriptor.TYPE_INT64: _int64,
    FieldDescriptor.TYPE_SINT64: _int64,
    FieldDescriptor.TYPE_SFIXED64: _int64,
    FieldDescriptor.TYPE_UINT32: _uint32,
    FieldDescriptor.TYPE_FIXED32: _uint32,
    FieldDescriptor.TYPE_UINT64: _uint64,
    FieldDescriptor.TYPE_FIXED64: _uint64,
    FieldDescriptor.TYPE_FLOAT: lambda text: read_float(text, 32),
    FieldDescriptor.TYPE_DOUBLE: lambda text: read_float(text, 64),
    FieldDescriptor.TYPE_STRING: read_string,
    FieldDescriptor.TYPE_BYTES: read_bytes,
}
"""By FieldDescriptor.type, for every type but enums and messages."""
