"""What may go wrong when a server is asked, as exceptions that can be told apart.

Each has the gRPC status ``code`` by name, and a ``message`` that says what was asked, what was
found and what to try.
"""
# ruff: noqa: N818 - read as what happened: `except PodNotFound`

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import grpc

from gpupods.errors import REASON_METADATA, Reason


class GpuPodsError(Exception):
    """A question that was not answered. The other errors here are kinds of it.

    Attributes:
        code: the status by gRPC's name, "NOT_FOUND".
        message: the server's words, or the client's own where no server spoke.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class InvalidPodId(GpuPodsError):
    """INVALID_ARGUMENT: the text can be no pod's name, namespace/name or uid."""


class PodNotFound(GpuPodsError):
    """NOT_FOUND: there is no such pod, or the cluster does not have its node."""


class NodeNotFound(GpuPodsError):
    """NOT_FOUND: the cluster has no node of that name."""


class NotReady(GpuPodsError):
    """FAILED_PRECONDITION: the pod is there, and not such that a node can be asked for it."""


class AmbiguousPod(NotReady):
    """Several namespaces have a pod of that name; the message lists them."""


class PodNotScheduled(NotReady):
    """The pod has no node yet."""


class AccessDenied(GpuPodsError):
    """UNAUTHENTICATED or PERMISSION_DENIED: the server does not know or not trust the caller."""


class Unavailable(GpuPodsError):
    """UNAVAILABLE: a part that is needed is away, tried again already; later it may be back."""


class Unreachable(Unavailable):
    """The server itself was not reached, or the connection to it broke."""


class DeadlineExceeded(GpuPodsError):
    """DEADLINE_EXCEEDED: no answer in the time that the caller gave."""


BY_REASON: Mapping[str, type[GpuPodsError]] = {
    Reason.AMBIGUOUS_POD.value: AmbiguousPod,
    Reason.POD_NOT_SCHEDULED.value: PodNotScheduled,
    Reason.NODE_NOT_FOUND.value: NodeNotFound,
}
BY_CODE: Mapping[grpc.StatusCode, type[GpuPodsError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidPodId,
    grpc.StatusCode.NOT_FOUND: PodNotFound,
    grpc.StatusCode.FAILED_PRECONDITION: NotReady,
    grpc.StatusCode.UNAUTHENTICATED: AccessDenied,
    grpc.StatusCode.PERMISSION_DENIED: AccessDenied,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
}


def error_from(
    code: grpc.StatusCode,
    details: str | None,
    trailing: Iterable[Any] | None,
    *,
    target: str,
    timeout_s: float,
) -> GpuPodsError:
    """The exception for a failed call to ``target`` that was given ``timeout_s`` seconds.

    ``trailing`` is the call's trailing metadata, pairs of a key and a value.
    """
    reason = dict(trailing or ()).get(REASON_METADATA)
    message = details or f"{target} gave no reason"
    if isinstance(reason, str):
        kind = BY_REASON.get(reason) or BY_CODE.get(code, GpuPodsError)
        return kind(code.name, message)
    if code is grpc.StatusCode.UNAVAILABLE:
        return Unreachable(code.name, f"{target} was not reached: {message}")
    if code is grpc.StatusCode.CANCELLED:  # what the caller itself cancels does not come here
        return Unreachable(code.name, f"{target} stopped before it answered; try again")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceeded(code.name, f"{target} did not answer within {timeout_s:g} s")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return GpuPodsError(code.name, f"what listens at {target} is not gpupods: {message}")
    return BY_CODE.get(code, GpuPodsError)(code.name, message)
