"""Why a node does not take a request, in words for those who wait for it.

kube-scheduler counts nodes by their reasons and joins the different ones into one message, so
there is a reason that many nodes share, and a longer one that names node and cards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpupods.accounting.cards import Card, NodeGpus
from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from gpupods.accounting.request import GpuRequest
from gpupods.node_annotations import UnfitGpu, parse_health

MOST_SHOWN = 8
_LONGEST_REASON = 60

BOTH = f"the pod asks for {GPU_MEMORY} and for {GPU_NUMBER}: let it ask for one of them"


class Refusal(NamedTuple):
    """Why not.

    Attributes:
        reason: In words that many nodes share.
        for_good: It would not take it if all of its pods went, either.
    """

    reason: str
    for_good: bool


def why_not(state: NodeGpus, request: GpuRequest) -> Refusal:
    """Why ``state`` has no place for ``request``."""
    if request.memory and request.number:
        return Refusal(BOTH, for_good=True)
    if request.memory:
        return _why_no_memory(state, request.memory)
    return _why_no_cards(state, request.number)


def _why_no_memory(state: NodeGpus, memory: int) -> Refusal:
    if not state.capacity.card_memory:
        return Refusal(f"no GPUs that are shared by {GPU_MEMORY}", for_good=True)
    if not state.fit:
        return Refusal("every GPU is unfit", for_good=True)
    if memory > state.capacity.card_memory:
        return Refusal(f"no GPU has {memory} of {GPU_MEMORY}", for_good=True)
    return Refusal(f"no fit GPU has {memory} of {GPU_MEMORY} idle", for_good=False)


def _why_no_cards(state: NodeGpus, number: int) -> Refusal:
    if not state.cards:
        return Refusal(f"no GPUs that are given by {GPU_NUMBER}", for_good=True)
    if number > len(state.cards):
        return Refusal(f"fewer than {number} GPUs", for_good=True)
    if number > state.fit:
        return Refusal(f"fewer than {number} fit GPUs", for_good=True)
    return Refusal(f"fewer than {number} fit GPUs without a pod", for_good=False)


def explain(name: str, state: NodeGpus, request: GpuRequest, health: str | None) -> str:
    """The same of one node, card by card.

    Args:
        name: The node's.
        state: Its state.
        request: What was refused.
        health: The node's annotation that says why cards are unfit; None: it has none.
    """
    if request.memory and request.number:
        return BOTH
    if not state.cards or (request.memory and not state.capacity.card_memory):
        why = state.capacity.problem or why_not(state, request).reason
        return f"node {name}: {why}"
    unfit = {gpu.index: gpu for gpu in parse_health(health)[0]}
    shown = list(_cards(state, request, unfit))
    more = [f"{len(shown) - MOST_SHOWN} more"] if len(shown) > MOST_SHOWN else []
    problem = f"; {state.problems[0]}" if state.problems else ""
    return f"node {name}: {', '.join(shown[:MOST_SHOWN] + more)}{problem}"


def _cards(state: NodeGpus, request: GpuRequest, unfit: dict[int, UnfitGpu]) -> Iterator[str]:
    memory = state.capacity.card_memory if request.memory else 0
    for index, card in enumerate(state.cards):
        if not card.fit:
            yield f"GPU {index} is unfit{_because(unfit.get(index))}"
        elif memory:
            yield f"GPU {index} has {card.idle} of {memory} idle"
        else:
            yield f"GPU {index} {_taken(card)}"


def _because(unfit: UnfitGpu | None) -> str:
    if unfit is None:
        return ""
    reason = (
        unfit.reason
        if len(unfit.reason) <= _LONGEST_REASON
        else (unfit.reason[: _LONGEST_REASON - 3] + "...")
    )
    return f" ({reason})"


def _taken(card: Card) -> str:
    if not card.pods:
        return "is free"
    return "has 1 pod" if card.pods == 1 else f"has {card.pods} pods"
