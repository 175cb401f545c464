"""Query strings and posted forms, split and unescaped as Go's net/url does. Pure.

What the values mean is in `query`.
"""

from __future__ import annotations

import re

from controller.http.errors import BadRequestError
from controller.http.go_quote import quote

MAX_PARAMETERS = 10_000

_NOT_AN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")

Form = dict[str, list[str]]
"""Each key's values in the order given. Bytes that are no UTF-8 stand as lone surrogates."""


def parse_form(encoded: bytes) -> Form:
    """Read ``a=1&b=2``.

    Raises:
        BadRequestError: a semicolon, a broken escape, or more than 10,000 parameters.
    """
    if encoded.count(b"&") >= MAX_PARAMETERS:
        raise BadRequestError("number of URL query parameters exceeded limit")
    if b";" in encoded:
        raise BadRequestError("invalid semicolon separator in query")
    form: Form = {}
    for pair in encoded.split(b"&"):
        if not pair:
            continue
        key, _, value = pair.partition(b"=")
        form.setdefault(_unescape_form(key), []).append(_unescape_form(value))
    return form


def merge_forms(posted: Form, query: Form) -> Form:
    """Both, the posted values of a key before the query's."""
    merged = {key: list(values) for key, values in posted.items()}
    for key, values in query.items():
        merged.setdefault(key, []).extend(values)
    return merged


def unescape_path(encoded: bytes) -> str:
    """Undo percent escapes; a plus sign stays one.

    Raises:
        BadRequestError: a percent sign without two hex digits.
    """
    return as_text(_unescape(encoded))


def as_text(value: bytes) -> str:
    """UTF-8, other bytes as lone surrogates, so that nothing is lost."""
    return value.decode("utf-8", "surrogateescape")


def _unescape_form(encoded: bytes) -> str:
    return as_text(_unescape(encoded.replace(b"+", b" ")))


def _unescape(encoded: bytes) -> bytes:
    if b"%" not in encoded:
        return encoded
    wrong = _NOT_AN_ESCAPE.search(encoded)
    if wrong:
        raise BadRequestError(f"invalid URL escape {quote(as_text(wrong.group()))}")
    return _ESCAPE.sub(lambda escape: bytes.fromhex(escape.group(1).decode()), encoded)
