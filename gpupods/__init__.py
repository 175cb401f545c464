"""gpupods: which Kubernetes pod's process is on which GPU.

The client's names can be imported from here. They are loaded when first used: servers and
``gpupods --help`` need no gRPC client, and should not wait for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpupods.client import (
        AccessDenied,
        AmbiguousPod,
        AsyncClient,
        Client,
        DeadlineExceeded,
        GpuHealth,
        GpuInfo,
        GpuPodsAnswer,
        GpuPodsError,
        GpuProcess,
        GpuState,
        InvalidPodId,
        MigInstance,
        MigMode,
        MissingKind,
        MissingPart,
        NotReady,
        Owner,
        PodNotFound,
        PodNotScheduled,
        PodProcess,
        ProcessType,
        UnattributedProcess,
        UnattributedReason,
        Unavailable,
        Unreachable,
    )

__all__ = [
    "AccessDenied",
    "AmbiguousPod",
    "AsyncClient",
    "Client",
    "DeadlineExceeded",
    "GpuHealth",
    "GpuInfo",
    "GpuPodsAnswer",
    "GpuPodsError",
    "GpuProcess",
    "GpuState",
    "InvalidPodId",
    "MigInstance",
    "MigMode",
    "MissingKind",
    "MissingPart",
    "NotReady",
    "Owner",
    "PodNotFound",
    "PodNotScheduled",
    "PodProcess",
    "ProcessType",
    "UnattributedProcess",
    "UnattributedReason",
    "Unavailable",
    "Unreachable",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gpupods import client  # noqa: PLC0415 - loaded when first used

    return getattr(client, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
