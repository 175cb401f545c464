"""What a container is given: its GPUs, as environment variables. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY
from gpupods.errors import failed_precondition
from nodeagent.deviceplugin.claims import Match
from nodeagent.deviceplugin.offer import Card
from nodeagent.deviceplugin.terms import DevicePluginMode, Terms

VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
"""By UUID: whatever the driver's own order is by the time the container starts."""
ALLOCATED = "VOLCANO_GPU_ALLOCATED"
"""MiB of the one GPU, or how many whole GPUs."""
MEMORY_TOTAL = "VOLCANO_GPU_MEMORY_TOTAL"
"""MiB that the GPU has; of several, the one that has the least."""

Environment = Mapping[str, str]


def grant(found: Match, cards: Sequence[Card], terms: Terms) -> Environment:
    """The environment of the container that asks.

    Raises:
        StatusError: it cannot be given what a scheduler has chosen for its pod.
    """
    pod, ask = found.pod, found.ask
    of_memory = ask.resource == GPU_MEMORY
    if of_memory and terms.mode is not DevicePluginMode.SHARE:
        raise failed_precondition(
            f"{pod.ref} asks for {GPU_MEMORY}, and this node gives whole GPUs only "
            "(--device-plugin=volcano-number): ask for volcano.sh/gpu-number"
        )
    if not pod.indexes:
        raise failed_precondition(
            f"no GPU is chosen for {pod.ref}: {pod.problem}; have it scheduled by Volcano with GPU "
            "sharing, or by a scheduler with gpupods' extender"
        )
    chosen = pod.indexes[:1] if of_memory else pod.indexes[ask.first : ask.first + ask.count]
    if (of_memory and len(pod.indexes) > 1) or (not of_memory and len(chosen) < ask.count):
        raise failed_precondition(
            f"{_shown(pod.indexes)} of {pod.ref} does not fit: container {ask.container} asks for "
            f"{ask.count} of {ask.resource}; delete the pod, so that it is scheduled anew"
        )
    given = [_card(index, cards, found) for index in chosen]
    return _environment(found, given, terms)


def preferred(
    found: Match, cards: Sequence[Card], available: Sequence[str], must: Sequence[str]
) -> list[str]:
    """Of the free devices those of the GPUs that were chosen; none where they do not suffice."""
    ask = found.ask
    if ask.resource == GPU_MEMORY:
        chosen = {str(index) for index in found.pod.indexes}
        fitting = [each for each in available if each.partition("-")[0] in chosen]
    else:
        indexes = found.pod.indexes[ask.first : ask.first + ask.count]
        uuids = {card.uuid for card in cards if card.index in indexes}
        fitting = [each for each in available if each in uuids]
    fixed = set(must)
    first = [*must, *(each for each in fitting if each not in fixed)]
    return first[: ask.count] if len(first) >= ask.count else []


def _card(index: int, cards: Sequence[Card], found: Match) -> Card:
    ref = found.pod.ref
    card = next((each for each in cards if each.index == index), None)
    if card is None:
        known = ",".join(str(each.index) for each in cards) or "none"
        raise failed_precondition(
            f"{ref} is to have GPU {index}, which this node has not; it has {known}; "
            f"{_shown(found.pod.indexes)}: who wrote that?"
        )
    if not card.fit:
        raise failed_precondition(
            f"{ref} is to have GPU {index}, which is unfit: {card.unfit}; it was scheduled before "
            "that was known: delete the pod, so that it is scheduled anew"
        )
    return card


def _environment(found: Match, cards: Sequence[Card], terms: Terms) -> Environment:
    ask = found.ask
    environment = {
        VISIBLE_DEVICES: ",".join(card.uuid for card in cards),
        ALLOCATED: str(ask.count * terms.unit_mib if ask.resource == GPU_MEMORY else ask.count),
    }
    known = [card.memory_mib for card in cards if card.memory_mib is not None]
    if len(known) == len(cards):
        environment[MEMORY_TOTAL] = str(min(known))
    return environment


def _shown(indexes: Sequence[int]) -> str:
    return f"{GPU_INDEX} {','.join(map(str, indexes))!r}"
