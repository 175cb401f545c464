"""What an operator's word on a GPU amounts to, and whether its node has taken it. Pure."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from gpupods.node_annotations import (
    HEALTH,
    OVERRIDES,
    UNHEALTHY_IDS,
    Override,
    OverrideKind,
    UnfitGpu,
    UnfitStanding,
    parse_health,
    parse_ids,
    parse_overrides,
)

COUNTED_BY = ("volcano.sh/gpu-number", "nvidia.com/gpu")
"""Resources whose capacity is the number of a node's GPUs."""
MIG_PREFIX = "nvidia.com/mig-"
"""Where there are such, GPUs that are split are not counted in nvidia.com/gpu."""

A_MOMENT = timedelta(milliseconds=1)
A_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """What counts of a Node here. ``version`` is its resourceVersion."""

    name: str
    version: str
    annotations: Mapping[str, str]
    capacity: Mapping[str, str]

    def unfit(self, index: int) -> UnfitGpu | None:
        """What its agent reports of an unfit GPU; None: it is not reported as unfit."""
        gpus, _ = parse_health(self.annotations.get(HEALTH))
        return next((gpu for gpu in gpus if gpu.index == index), None)

    def announces(self, index: int) -> bool:
        """Whether schedulers are told to avoid that GPU."""
        return index in parse_ids(self.annotations.get(UNHEALTHY_IDS))[0]

    def word(self, index: int) -> Override | None:
        """The operator's word that is written there."""
        return parse_overrides(self.annotations.get(OVERRIDES))[0].get(index)


def beyond(node: NodeSeen, index: int) -> str:
    """Why the node can have no GPU of that index; "" if it may."""
    if node.unfit(index) is not None or node.announces(index):
        return ""
    mig = any(resource.startswith(MIG_PREFIX) for resource in node.capacity)
    for resource in COUNTED_BY:
        told = node.capacity.get(resource, "")
        count = int(told) if told.isascii() and told.isdigit() else 0
        if count and not (mig and resource == "nvidia.com/gpu"):
            if index < count:
                return ""
            they = f"{count} GPUs" if count > 1 else "1 GPU"
            which = f"0 to {count - 1}" if count > 1 else "0 alone"
            return f"node {node.name!r} has {they} by its capacity of {resource}: {which}"
    return ""


def counts_no_gpu(node: NodeSeen) -> bool:
    """Whether nothing at its Node speaks of a GPU. It may have some that no plugin counts."""
    told = any(
        (resource in COUNTED_BY or resource.startswith(MIG_PREFIX)) and count != "0"
        for resource, count in node.capacity.items()
    )
    return not told and not {HEALTH, UNHEALTHY_IDS} & node.annotations.keys()


def nothing_to_restore(node: NodeSeen, index: int, now: datetime) -> bool:
    """Whether nothing is held against that GPU: neither by its agent nor by an operator."""
    word = node.word(index)
    excluded = word is not None and word.kind is OverrideKind.EXCLUDE and _holds(word, now)
    return not excluded and node.unfit(index) is None and not node.announces(index)


def _holds(word: Override, now: datetime) -> bool:
    return word.until is None or word.until > now


def dated(word: Override, node: NodeSeen, index: int) -> Override:
    """``word`` with a time that is after all that it is about.

    The clocks of this machine and of the node may differ by a little, and a restoration counts
    for what was before it. A word that is no later than the last one would not be a new one.
    """
    after = [word.given]
    if (last := node.word(index)) is not None:
        after.append(last.given + A_MOMENT)
    if (gpu := node.unfit(index)) is not None and gpu.since is not None:
        after.append(gpu.since + A_SECOND)
    return msgspec.structs.replace(word, given=max(after))


class Standing(enum.Enum):
    """What has become of a word."""

    TAKEN = "taken"
    WAITING = "waiting"
    """The node's agent has not taken it yet."""
    UNFIT_ANEW = "unfit anew"
    """It was restored, and something is wrong with it that was noticed since."""


def standing(node: NodeSeen, index: int, word: Override) -> Standing:
    """Whether the agent of ``node`` has taken ``word``, by what it reports."""
    gpu = node.unfit(index)
    if word.kind is OverrideKind.EXCLUDE:
        by_it = (
            gpu is not None
            and gpu.standing is UnfitStanding.EXCLUDED
            and gpu.who == word.who
            and gpu.since is not None
            and abs(gpu.since - word.given) <= A_SECOND
        )
        return Standing.TAKEN if by_it and node.announces(index) else Standing.WAITING
    if gpu is None and not node.announces(index):
        return Standing.TAKEN
    since = None if gpu is None or gpu.standing is UnfitStanding.EXCLUDED else gpu.since
    if since is not None and since > word.given:
        return Standing.UNFIT_ANEW
    return Standing.WAITING
