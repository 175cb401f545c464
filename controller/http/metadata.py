"""Headers to gRPC metadata and back, and the caller's deadline, as grpc-gateway passes them.

A header that every HTTP client may send goes on as ``grpcgateway-NAME``; Authorization also
under its own name; where the request came from as ``x-forwarded-for`` and ``x-forwarded-host``.
Grpc-Metadata-* is not passed on: since v2.33 grpc-gateway does not let a caller choose a key.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence

from multidict import CIMultiDictProxy

from controller.http.errors import BadRequestError

GRPC_TIMEOUT = "Grpc-Timeout"
RESPONSE_PREFIX = "Grpc-Metadata-"

Metadata = Sequence[tuple[str, str | bytes]]

_UNIT_S = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_TIMEOUT = re.compile(r"([0-9]+)([HMSmun])", re.ASCII)
_MAX_TIMEOUT_S = 10 * 365 * 86_400.0
_MAX_UINT64 = (1 << 64) - 1
_MAX_UINT64_DIGITS = len(str(_MAX_UINT64))

# grpc-go counts it among an answer's metadata, grpcio does not.
_CONTENT_TYPE = (RESPONSE_PREFIX + "Content-Type", "application/grpc")

_PRINTABLE = re.compile(r"[ -~]*")

_PERMANENT = frozenset(
    (
        "accept",
        "accept-charset",
        "accept-language",
        "accept-ranges",
        "authorization",
        "cache-control",
        "content-type",
        "cookie",
        "date",
        "expect",
        "from",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-schedule-tag-match",
        "if-unmodified-since",
        "max-forwards",
        "origin",
        "pragma",
        "referer",
        "user-agent",
        "via",
        "warning",
    )
)


def read_timeout_s(headers: CIMultiDictProxy[str], default_s: float) -> float:
    """How long the caller waits. No Grpc-Timeout, or one of zero, means ``default_s``.

    Raises:
        BadRequestError: the header is there and cannot be read.
    """
    text = headers.get(GRPC_TIMEOUT, "")
    if not text:
        return default_s
    match = _TIMEOUT.fullmatch(text)
    digits = match.group(1).lstrip("0") if match else ""
    if match is None or len(digits) > _MAX_UINT64_DIGITS or int(digits or "0") > _MAX_UINT64:
        raise BadRequestError(f"invalid grpc-timeout: {text}")
    return min(int(digits or "0") * _UNIT_S[match.group(2)], _MAX_TIMEOUT_S) or default_s


def to_metadata(headers: CIMultiDictProxy[str], remote: str | None) -> Metadata:
    """What the gRPC server gets to see of an HTTP request from the address ``remote``."""
    pairs: list[tuple[str, str | bytes]] = [
        ("authorization", value) for value in _printable(headers.getall("Authorization", ()))
    ]
    for name, value in headers.items():
        key = name.lower()
        if key in _PERMANENT and _PRINTABLE.fullmatch(value):
            pairs.append((f"grpcgateway-{key}", value))
    host = headers.get("X-Forwarded-Host") or headers.get("Host") or ""
    if host and _PRINTABLE.fullmatch(host):
        pairs.append(("x-forwarded-host", host))
    hops = _printable(headers.getall("X-Forwarded-For", ()))
    if remote and _PRINTABLE.fullmatch(remote):
        hops.append(remote)
    if hops:
        pairs.append(("x-forwarded-for", ", ".join(hops)))
    return pairs


def _printable(values: Iterable[str]) -> list[str]:
    return [value for value in values if _PRINTABLE.fullmatch(value)]


def to_headers(metadata: Iterable[tuple[str, str | bytes]]) -> list[tuple[str, str]]:
    """The answer's initial metadata as headers; bytes as base64, as gRPC itself sends them."""
    headers = [(RESPONSE_PREFIX + key, _header_value(value)) for key, value in metadata]
    return [_CONTENT_TYPE, *headers]


def _header_value(value: str | bytes) -> str:
    return value if isinstance(value, str) else base64.b64encode(value).decode()
