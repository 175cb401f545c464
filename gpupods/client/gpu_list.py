"""What a client is answered about the GPUs of a whole cluster, as plain values.

As in `gpupods.client.answer`: what could not be found out is None. Pure: no gRPC here.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime

from gpupods.client.answer import GpuHealth, GpuInfo, MissingPart, Owner
from gpupods.identity import NodeName, PodRef, PodUid


class GpuSource(enum.Enum):
    """Who tells of a GPU."""

    UNKNOWN = "unknown"
    NODE_AGENT = "node agent"
    NODE_OBJECT = "node object"
    """The annotations of the Node object: its agent could not be asked."""


@dataclass(frozen=True, slots=True)
class PodOnGpu:
    """A pod with processes on a GPU; ``processes`` is how many.

    ``memory_mib`` is what they hold, None if that is not known of all of them.
    """

    ref: PodRef
    uid: PodUid | None
    owner: Owner | None
    processes: int
    memory_mib: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGpu:
    """One GPU of one node.

    ``pods`` is None if it could not be found out what runs on it; ``other_processes`` are of no
    pod that can be named. ``announced`` is whether the Node tells schedulers to avoid it.
    ``sampled_at`` is when the driver was asked, None if it was not. ``given_to`` are the pods that
    a scheduler gave it to, whether or not they run on it now, where schedulers share GPUs.
    """

    node: NodeName
    info: GpuInfo
    pods: tuple[PodOnGpu, ...] | None
    other_processes: int
    source: GpuSource
    sampled_at: datetime | None
    announced: bool
    given_to: tuple[PodRef, ...] = ()

    @property
    def unfit(self) -> bool:
        """Whether it must not be given to anybody."""
        return self.info.health is GpuHealth.UNFIT


@dataclass(frozen=True, slots=True)
class MissingOfNode:
    """One thing that is missing of a node; ``part`` None: the node as a whole.

    ``node`` is None where it is the cluster's.
    """

    node: NodeName | None
    part: MissingPart | None
    reason: str


@dataclass(frozen=True, slots=True)
class GpuList:
    """GPUs by node and index, and what this answer lacks.

    Attributes:
        nodes: How many nodes it is about.
        gpus_known: How many GPUs these have, as far as their agents or Node objects tell; those
            that were left out count, too.
    """

    gpus: tuple[ListedGpu, ...]
    missing: tuple[MissingOfNode, ...]
    nodes: int
    gpus_known: int

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing
