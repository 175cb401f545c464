"""Whether GPUs that a pod was given by mistake are free for it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from nodeagent.deviceplugin.offer import Card
from nodeagent.deviceplugin.pods import GpuPod


def has_room(
    pod: GpuPod,
    indexes: Sequence[int],
    others: Iterable[GpuPod],
    cards: Iterable[Card],
    unit_mib: int,
) -> bool:
    """Whether ``pod`` could have been given ``indexes`` beside the ``others`` on its node."""
    memory, number = pod.needs(GPU_MEMORY), pod.needs(GPU_NUMBER)
    if len(indexes) != (number or 1) or (memory and number):
        return False
    there = [each for each in others if each.uid != pod.uid and set(each.indexes) & set(indexes)]
    if number:
        return not there
    if any(each.needs(GPU_NUMBER) for each in there):
        return False
    units = {card.index: (card.memory_mib or 0) // unit_mib for card in cards}
    taken = sum(each.needs(GPU_MEMORY) for each in there)
    return taken + memory <= units.get(indexes[0], 0)
