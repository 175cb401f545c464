"""The names by which things are known, each a type of its own, so that a wrong key cannot be used.

Pure values: nothing here does I/O.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

ContainerId = NewType("ContainerId", str)
"""A runtime's container id without its scheme, usually 64 hex digits."""

GpuUuid = NewType("GpuUuid", str)
"""NVML's UUID of a physical GPU: "GPU-...". MIG devices have "MIG-..." of their own."""

NodeName = NewType("NodeName", str)
"""metadata.name of a Kubernetes Node."""

Pid = NewType("Pid", int)
"""A process id in the node's own pid namespace. A process only together with its start time."""

PodUid = NewType("PodUid", str)
"""metadata.uid of a Pod."""


@dataclass(frozen=True, slots=True, order=True)
class PodRef:
    """A pod by namespace and name: unique at one moment, reused over time."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it: ``namespace/name``."""
        return f"{self.namespace}/{self.name}"


def bare_container_id(container_id: str) -> ContainerId:
    """Strip the scheme that the kubelet puts before an id: ``containerd://abc`` -> ``abc``."""
    return ContainerId(container_id.rpartition("://")[2])
