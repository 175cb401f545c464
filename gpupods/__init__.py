"""gpupods: which Kubernetes pod's process is on which GPU.

The client's names are imported from here, and loaded when first used: servers and
``gpupods --help`` need no gRPC client, and should not wait for one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpupods.client.answer import (
        GpuHealth,
        GpuHealthDetail,
        GpuInfo,
        GpuPodsAnswer,
        GpuProcess,
        GpuState,
        MigInstance,
        MigMode,
        MissingKind,
        MissingPart,
        Owner,
        PodProcess,
        ProcessType,
        UnattributedProcess,
        UnattributedReason,
    )
    from gpupods.client.asyncio_client import AsyncClient
    from gpupods.client.blocking_client import Client
    from gpupods.client.errors import (
        AccessDenied,
        AmbiguousPod,
        DeadlineExceeded,
        GpuPodsError,
        InvalidPodId,
        NodeNotFound,
        NotReady,
        PodNotFound,
        PodNotScheduled,
        Unavailable,
        Unreachable,
    )
    from gpupods.client.gpu_list import GpuList, GpuSource, ListedGpu, MissingOfNode, PodOnGpu

__all__ = [
    "AccessDenied",
    "AmbiguousPod",
    "AsyncClient",
    "Client",
    "DeadlineExceeded",
    "GpuHealth",
    "GpuHealthDetail",
    "GpuInfo",
    "GpuList",
    "GpuPodsAnswer",
    "GpuPodsError",
    "GpuProcess",
    "GpuSource",
    "GpuState",
    "InvalidPodId",
    "ListedGpu",
    "MigInstance",
    "MigMode",
    "MissingKind",
    "MissingOfNode",
    "MissingPart",
    "NodeNotFound",
    "NotReady",
    "Owner",
    "PodNotFound",
    "PodNotScheduled",
    "PodOnGpu",
    "PodProcess",
    "ProcessType",
    "UnattributedProcess",
    "UnattributedReason",
    "Unavailable",
    "Unreachable",
]

_MODULES = ("answer", "gpu_list", "errors", "blocking_client", "asyncio_client")
"""Of gpupods.client; the first two need no gRPC, the last is asked for least."""


def __getattr__(name: str) -> object:
    if name in __all__:
        for module in _MODULES:
            found = importlib.import_module(f"gpupods.client.{module}")
            if hasattr(found, name):
                return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
