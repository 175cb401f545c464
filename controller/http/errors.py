"""From a gRPC status to an HTTP code and a body, as grpc-gateway maps them.

The body is google.rpc.Status as JSON: ``{"code": 5, "message": "...", "details": []}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from controller.http import protojson
from controller.http.go_quote import quote

STATUS_DETAILS_KEY = "grpc-status-details-bin"

INVALID_ARGUMENT: int = grpc.StatusCode.INVALID_ARGUMENT.value[0]
NOT_FOUND: int = grpc.StatusCode.NOT_FOUND.value[0]
UNIMPLEMENTED: int = grpc.StatusCode.UNIMPLEMENTED.value[0]
INTERNAL: int = grpc.StatusCode.INTERNAL.value[0]
UNKNOWN: int = grpc.StatusCode.UNKNOWN.value[0]
UNAVAILABLE: int = grpc.StatusCode.UNAVAILABLE.value[0]
DEADLINE_EXCEEDED: int = grpc.StatusCode.DEADLINE_EXCEEDED.value[0]
UNAUTHENTICATED: int = grpc.StatusCode.UNAUTHENTICATED.value[0]

_HTTP_INTERNAL = 500
_HTTP_STATUS: Mapping[grpc.StatusCode, int] = {
    grpc.StatusCode.OK: 200,
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.UNKNOWN: 500,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DATA_LOSS: 500,
}
_HTTP_STATUS_BY_CODE = {code.value[0]: status for code, status in _HTTP_STATUS.items()}

# What grpcio says if the deadline passed on this side.
_OWN_DEADLINE = "Deadline Exceeded"

_UNSHOWABLE = b'{"code": 13, "message": "failed to marshal error message"}'

# Details of these types come from many servers; importing the module makes them known.
_KNOWN_DETAILS = error_details_pb2.DESCRIPTOR


class BadRequestError(ValueError):
    """The HTTP request cannot be turned into a message: 400 with code 3."""


class UnencodableError(ValueError):
    """A string for the request is not UTF-8: grpc-gateway fails to encode it, 500 with code 13."""

    def __init__(self) -> None:
        super().__init__("grpc: error while marshaling: string field contains invalid UTF-8")


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error answer, ready to be sent."""

    http_status: int
    code: int
    message: str
    body: bytes


def http_status(code: int) -> int:
    """The HTTP code for a gRPC ``code``; 500 for one that gRPC does not define."""
    return _HTTP_STATUS_BY_CODE.get(code, _HTTP_INTERNAL)


def http_error(code: int, message: str) -> HttpError:
    """An error without details."""
    try:
        return status_error(status_pb2.Status(code=code, message=message))
    except UnicodeEncodeError:  # it repeats bytes of the request that were no UTF-8
        return HttpError(_HTTP_INTERNAL, code, "", _UNSHOWABLE)


def status_error(status: status_pb2.Status) -> HttpError:
    """``status`` as HTTP; one whose details cannot be shown becomes a 500 that says so."""
    try:
        body = protojson.to_json(status)
    except ValueError:
        return HttpError(_HTTP_INTERNAL, status.code, status.message, _UNSHOWABLE)
    return HttpError(http_status(status.code), status.code, status.message, body)


def rpc_error(error: grpc.aio.AioRpcError) -> HttpError:
    """What a call ended with, its details taken from grpc-status-details-bin if it has one."""
    code: int = error.code().value[0]
    message = error.details() or ""
    if code == DEADLINE_EXCEEDED and message == _OWN_DEADLINE:
        message = "context deadline exceeded"
    trailers: Any = error.trailing_metadata() or ()
    sent = [value for key, value in trailers if key == STATUS_DETAILS_KEY]
    if len(sent) != 1:
        return http_error(code, message)
    try:
        status = status_pb2.Status.FromString(sent[0])
    except DecodeError:
        return http_error(code, message)
    if status.code != code:
        return http_error(
            INTERNAL,
            f"{STATUS_DETAILS_KEY} mismatch: grpc-status={code}, grpc-message={quote(message)}, "
            f"{STATUS_DETAILS_KEY}={text_format.MessageToString(status, as_one_line=True)}",
        )
    return status_error(status)
