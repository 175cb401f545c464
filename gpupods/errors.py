"""An error that a caller is meant to read: a gRPC status, and what was asked, found and to try.

The services raise it anywhere; their servicers turn it into the call's status, and the HTTP
side into the code that grpc-gateway would give.
"""

from __future__ import annotations

import enum

import grpc

REASON_METADATA = "gpupods-reason"
"""Trailing metadata of a failed call: a `Reason`'s value. That it is there tells a client that
the server itself spoke, and not a proxy or its own gRPC library."""


class Reason(enum.Enum):
    """What a program may want to tell apart among the errors of one status."""

    UNSPECIFIED = "UNSPECIFIED"
    AMBIGUOUS_POD = "AMBIGUOUS_POD"
    POD_NOT_SCHEDULED = "POD_NOT_SCHEDULED"
    NODE_NOT_FOUND = "NODE_NOT_FOUND"


class StatusError(Exception):
    """Ends a call with ``code`` and ``message``. The message is written for the caller."""

    def __init__(
        self, code: grpc.StatusCode, message: str, reason: Reason = Reason.UNSPECIFIED
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason


def invalid_argument(message: str) -> StatusError:
    """The request itself is wrong, whatever the state of the cluster."""
    return StatusError(grpc.StatusCode.INVALID_ARGUMENT, message)


def not_found(message: str) -> StatusError:
    """What the request names is not there."""
    return StatusError(grpc.StatusCode.NOT_FOUND, message)


def failed_precondition(message: str, reason: Reason = Reason.UNSPECIFIED) -> StatusError:
    """What the request names is there, and not in a state that allows an answer."""
    return StatusError(grpc.StatusCode.FAILED_PRECONDITION, message, reason)


def unavailable(message: str) -> StatusError:
    """A part that is needed is away; the same request may succeed later."""
    return StatusError(grpc.StatusCode.UNAVAILABLE, message)


def deadline_exceeded(message: str) -> StatusError:
    """A part that is needed did not answer in the time the caller gave."""
    return StatusError(grpc.StatusCode.DEADLINE_EXCEEDED, message)
