"""JSON text to values, as strictly as protojson: no NaN, no repeated member, nothing unpaired."""

from __future__ import annotations

import json
import math
from typing import Any

from controller.http.errors import BadRequestError


def decode(text: str) -> Any:
    """The one value that ``text`` is.

    Raises:
        BadRequestError: it is not JSON.
    """
    value, rest = _decode(text)
    if rest.strip(_SPACE):
        raise BadRequestError(f"proto: syntax error: unexpected token {rest.strip(_SPACE)[:20]}")
    return value


def decode_first(text: str) -> Any:
    """The value that ``text`` begins with; what follows is not looked at.

    Raises:
        BadRequestError: it does not begin with JSON.
    """
    return _decode(text)[0]


_SPACE = " \t\r\n"


def _decode(text: str) -> tuple[Any, str]:
    text = text.lstrip(_SPACE)
    try:
        value, end = _decoder.raw_decode(text)
    except BadRequestError:
        raise
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"proto: syntax error: {error}") from None
    return value, text[end:]


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise BadRequestError("proto: duplicate field or map key")
    return members


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise BadRequestError(f"proto: invalid value: {text}")
    return value


def _constant(text: str) -> float:
    raise BadRequestError(f"proto: syntax error: invalid value {text}")


_decoder = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_number, parse_constant=_constant
)
