"""What a pod asks for: GPU memory of one card, or a number of whole cards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from gpupods.accounting.quantity import parse_quantity


class GpuRequest(msgspec.Struct, frozen=True, gc=False):
    """``memory`` in the units of the cluster's device plugin, ``number`` in cards."""

    memory: int
    number: int

    def __str__(self) -> str:
        """For people: "2048 of volcano.sh/gpu-memory"."""
        if self.memory > 0:
            return f"{self.memory} of {GPU_MEMORY}"
        return f"{self.number} of {GPU_NUMBER}"


NOTHING = GpuRequest(0, 0)


class ContainerLimits(NamedTuple):
    """A container's limits of the two resources, as Kubernetes writes them; None: it has none.

    A sidecar is an init container that keeps running (``restartPolicy: Always``).
    """

    memory: str | float | None = None
    number: str | float | None = None
    init: bool = False
    sidecar: bool = False


def request_of(containers: Iterable[ContainerLimits]) -> GpuRequest:
    """What the pod needs at its neediest moment.

    Its containers and sidecars run together; an init container runs beside the sidecars that
    stand before it. ``containers`` are in the pod's order, init containers first.

    Raises:
        ValueError: a limit is no quantity, or is negative.
    """
    listed = tuple(containers)
    return GpuRequest(
        _most([(each, _limit(GPU_MEMORY, each.memory)) for each in listed]),
        _most([(each, _limit(GPU_NUMBER, each.number)) for each in listed]),
    )


def _most(wanted: list[tuple[ContainerLimits, int]]) -> int:
    sidecars = starting = running = 0
    for container, limit in wanted:
        if container.sidecar:
            sidecars += limit
        elif container.init:
            starting = max(starting, sidecars + limit)
        else:
            running += limit
    return max(starting, sidecars + running)


def _limit(resource: str, value: str | float | None) -> int:
    if value is None:
        return 0
    try:
        limit = parse_quantity(value)
    except ValueError as error:
        raise ValueError(f"its limit of {resource}: {error}") from None
    if limit < 0:
        raise ValueError(f"its limit of {resource} is {limit}: write 0 or more")
    return limit
