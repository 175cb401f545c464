"""Which devices the kubelet is told of: one list for each resource. Pure.

Each GPU is counted with its own memory, and every GPU of the node is in the list, be it lost:
schedulers divide capacity by number, so that a device that came and went would move all others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from gpupods.identity import GpuUuid
from nodeagent.deviceplugin.terms import DevicePluginMode, Terms
from nodeagent.health.verdict import Verdict
from nodeagent.kubelet_api import deviceplugin_pb2 as pb

RESOURCES = (GPU_MEMORY, GPU_NUMBER)
"""Volcano's scheduler needs both in the node's capacity, whichever of them pods ask for."""

KUBELET_LIMIT_BYTES = 4 * 1024 * 1024
"""The longest message that the kubelet takes; it drops the plugin that sends a longer one."""

HEALTHY = "Healthy"
UNHEALTHY = "Unhealthy"


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU of the node, as pods may be given it."""

    index: int
    uuid: GpuUuid
    memory_mib: int | None
    """None: no driver has told yet."""
    unfit: str = ""
    """Why it must not be given; empty: it may be."""

    @property
    def fit(self) -> bool:
        """Whether it may be given."""
        return not self.unfit


@dataclass(frozen=True, slots=True)
class Block:
    """The devices of one GPU: ``prefix-0`` to ``prefix-(count - 1)``, or ``prefix`` itself."""

    prefix: str
    count: int | None
    """None: the GPU is one device."""
    healthy: bool

    def ids(self) -> Iterable[str]:
        """The devices' ids."""
        if self.count is None:
            return (self.prefix,)
        return (f"{self.prefix}-{number}" for number in range(self.count))

    @property
    def size(self) -> int:
        """How many devices."""
        return 1 if self.count is None else self.count


Offer = tuple[Block, ...]
"""The devices of one resource, by GPU."""


class TooManyError(ValueError):
    """The kubelet would not take the list. The message says what to do."""


def cards_of(verdicts: Sequence[Verdict], memory_mib: Mapping[GpuUuid, int]) -> tuple[Card, ...]:
    """The node's GPUs, by index."""
    return tuple(
        Card(
            each.index,
            each.uuid,
            memory_mib.get(each.uuid),
            "" if each.fit else each.reason or each.standing.value,
        )
        for each in verdicts
    )


def offer(resource: str, cards: Iterable[Card], terms: Terms) -> Offer:
    """The devices of ``resource``.

    Where whole GPUs alone are given, memory is there for schedulers to read, and unhealthy
    throughout: it counts as capacity, and nobody can be given any.
    """
    blocks = []
    for card in cards:
        healthy = card.fit or not terms.kubelet_is_told
        if resource == GPU_NUMBER:
            blocks.append(Block(card.uuid, None, healthy))
        elif card.memory_mib is not None:
            shared = terms.mode is DevicePluginMode.SHARE
            units = card.memory_mib // terms.unit_mib
            blocks.append(Block(str(card.index), units, healthy and shared))
    return tuple(blocks)


def encode(offered: Offer, terms: Terms) -> bytes:
    """The list as the kubelet is sent it.

    Raises:
        TooManyError: it is too long for the kubelet.
    """
    devices = (
        pb.Device(ID=name, health=HEALTHY if block.healthy else UNHEALTHY)
        for block in offered
        for name in block.ids()
    )
    units = sum(block.size for block in offered)
    # Each takes 10 bytes and more: what is far too long need not be made to see that.
    if units * 10 <= KUBELET_LIMIT_BYTES:
        encoded = pb.ListAndWatchResponse(devices=devices).SerializeToString()
        if len(encoded) <= KUBELET_LIMIT_BYTES:
            return encoded
    raise TooManyError(
        f"{units} devices of {terms.unit_mib} MiB of GPU memory are more than the kubelet takes in "
        f"one message of {KUBELET_LIMIT_BYTES} bytes; set --device-plugin-memory-unit to "
        f"{_unit_that_fits(units * terms.unit_mib)} or more, on every node and in what pods ask for"
    )


def _unit_that_fits(memory_mib: int) -> int:
    """A power of two, so that it divides what GPUs have."""
    most = KUBELET_LIMIT_BYTES // 28
    return 1 << max(0, math.ceil(math.log2(memory_mib / most)))
