"""The Python client: `Client` for threads, `AsyncClient` for asyncio, and what they answer.

``answer`` has the values, ``convert`` makes them from the contract's messages, ``errors`` says
what may go wrong, ``channel`` how a server is reached.
"""

from __future__ import annotations

from gpupods.client.answer import (
    GpuHealth,
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
    NotReady,
    PodNotFound,
    PodNotScheduled,
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
