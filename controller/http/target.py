"""A request line's target, split into path and query as Go's net/http does. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from controller.http.errors import BadRequestError
from controller.http.form import unescape_path

_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.\-]*://[^/?]*")
_CONTROL = re.compile(rb"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class Target:
    """An unescaped path, and the query as it came."""

    path: str
    query: bytes


def split_target(text: str) -> Target:
    """Read ``/path?query`` or ``http://host/path?query``; ``text`` as aiohttp hands it over.

    Raises:
        BadRequestError: a broken escape in the path, or a control character anywhere.
    """
    encoded = text.encode("utf-8", "surrogateescape")
    if _CONTROL.search(encoded):
        raise BadRequestError("invalid control character in URL")
    absolute = _ABSOLUTE.match(encoded)
    path, _, query = encoded[absolute.end() if absolute else 0 :].partition(b"?")
    return Target(unescape_path(path), query)
