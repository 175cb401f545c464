"""Which nodes take a pod, and how well. Pure: from the states of nodes to verdicts and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gpupods.accounting.cards import NodeGpus
from gpupods.accounting.refusal import Refusal, why_not
from gpupods.accounting.request import GpuRequest

HIGHEST_SCORE = 10
MOST_EXPLAINED = 5
"""With more nodes than that, reasons are those that many nodes share: the scheduler puts every
different one into a single message, which it cuts off at 1024 characters."""

UNKNOWN_NODE = Refusal("a node that the controller does not know yet", for_good=True)

Explain = Callable[[str, NodeGpus], str]
"""The long reason of one node."""


@dataclass(slots=True)
class Verdicts:
    """Names of nodes that take the pod, and why others do not.

    Attributes:
        failed: Would take it, if pods went.
        failed_for_good: Would not, whichever went.
    """

    fitting: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    failed_for_good: dict[str, str] = field(default_factory=dict)


def judge(
    states: Mapping[str, NodeGpus],
    names: Sequence[str],
    request: GpuRequest,
    kept: Callable[[str], bool],
    explain: Explain,
) -> Verdicts:
    """Judge nodes.

    Args:
        states: Of all nodes that are known.
        names: Those to be judged.
        request: What the pod asks for, of one kind at least.
        kept: Whether cards of a node are kept for this very pod.
        explain: Asked where there are few to be explained.
    """
    verdicts = Verdicts()
    refused = []
    for name in names:
        state = states.get(name)
        if state is not None and (state.takes(request) or kept(name)):
            verdicts.fitting.append(name)
        else:
            refused.append(name)
    in_detail = len(refused) <= MOST_EXPLAINED
    for name in refused:
        state = states.get(name)
        refusal = why_not(state, request) if state is not None else UNKNOWN_NODE
        reason = explain(name, state) if in_detail and state is not None else refusal.reason
        (verdicts.failed_for_good if refusal.for_good else verdicts.failed)[name] = reason
    return verdicts


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
