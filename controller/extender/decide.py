"""Which nodes take a pod, and how well. Pure: from the states of nodes to verdicts and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from gpupods.accounting.cards import NodeGpus
from gpupods.accounting.refusal import Refusal, why_not
from gpupods.accounting.request import GpuRequest

HIGHEST_SCORE = 10
MOST_EXPLAINED = 5
"""With more nodes than that, reasons are those that many nodes share: the scheduler puts every
different one into a single message, which it cuts off at 1024 characters."""

UNKNOWN_NODE = "a node that the controller does not know yet"

Explain = Callable[[str, NodeGpus], str]
"""The long reason of one node."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nodes do not take a pod, by their names.

    Attributes:
        for_now: They would, if pods went.
        for_good: They would not, whichever went.
    """

    for_now: dict[str, str] = field(default_factory=dict)
    for_good: dict[str, str] = field(default_factory=dict)


def fitting(
    states: Mapping[str, NodeGpus],
    names: Sequence[str],
    request: GpuRequest,
    kept: AbstractSet[str],
) -> list[str]:
    """Those of ``names`` that take the pod.

    Args:
        states: Of all nodes that are known.
        names: Those to be judged.
        request: What the pod asks for, of one kind at least.
        kept: Nodes on which cards are kept for this very pod.
    """
    return [
        name
        for name in names
        if (state := states.get(name)) is not None and (state.takes(request) or name in kept)
    ]


def refused(
    states: Mapping[str, NodeGpus], names: Sequence[str], request: GpuRequest, explain: Explain
) -> Refused:
    """Why none of ``names`` takes the pod; ``explain`` is asked where they are few."""
    result = Refused()
    known: dict[tuple[int, int, int], Refusal] = {}
    in_detail = len(names) <= MOST_EXPLAINED
    for name in names:
        state = states.get(name)
        if state is None:
            result.for_good[name] = UNKNOWN_NODE
            continue
        alike = (state.capacity.card_memory, state.fit, len(state.cards))
        refusal = known.get(alike) or known.setdefault(alike, why_not(state, request))
        reasons = result.for_good if refusal.for_good else result.for_now
        reasons[name] = explain(name, state) if in_detail else refusal.reason
    return result


def score(state: NodeGpus | None, request: GpuRequest) -> float:
    """0 to `HIGHEST_SCORE`, the higher the less is broken into.

    By memory: how full the card would be that it gets, so that cards without a pod stay whole. By
    number: how many of the fit cards would be taken, so that nodes without a pod stay whole.
    """
    indexes = state.place(request) if state is not None else ()
    if state is None or not indexes:
        return 0.0
    if request.number:
        return HIGHEST_SCORE * (state.fit - state.free + request.number) / state.fit
    whole = state.capacity.card_memory
    return HIGHEST_SCORE * (whole - state.cards[indexes[0]].idle + request.memory) / whole
