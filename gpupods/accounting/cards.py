"""A node's cards: what is idle on each, and which of them a request gets.

Unfit cards are dropped from the list that is chosen from; no index ever shifts. All cards of a
node count as alike, as they do for Volcano: its capacity has their memory in one sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from gpupods.accounting.indexes import parse_index
from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER
from gpupods.accounting.quantity import parse_quantity
from gpupods.accounting.request import GpuRequest
from gpupods.node_annotations import HIGHEST_INDEX, parse_ids

MOST_CARDS = HIGHEST_INDEX + 1


class Claim(NamedTuple):
    """A pod that is on the node and asks for GPUs.

    Attributes:
        pod: For messages.
        request: What it asks for.
        given: Its annotation with indexes, as it stands; None: it has none.
        problem: Why its request could not be read; "" where it could.
    """

    pod: str
    request: GpuRequest
    given: str | None
    problem: str = ""


class Card(msgspec.Struct, frozen=True, gc=False):
    """One GPU. ``idle`` is memory that nobody was given, 0 where a pod has the whole card."""

    idle: int
    pods: int
    fit: bool

    def takes(self, request: GpuRequest) -> bool:
        """Whether it can be given for ``request``, or be one of those that are."""
        return self.fit and (self.idle >= request.memory if request.memory else not self.pods)


class Capacity(msgspec.Struct, frozen=True, gc=False):
    """What a node's ``status.capacity`` says.

    Attributes:
        number: How many GPUs there are.
        card_memory: The memory of each; 0: the capacity does not say.
        problem: Why it is less than one would expect; "" where it is not.
    """

    number: int = 0
    card_memory: int = 0
    problem: str = ""


class NodeGpus(msgspec.Struct, frozen=True, gc=False):
    """The state of one node, made anew at each change, so that asking costs a comparison.

    Attributes:
        cards: By index, the unfit ones too.
        most_idle: The most idle memory of any fit card; -1: there is no such card.
        free: How many fit cards have no pod on them.
        fit: How many cards are fit.
        problems: What was not understood, and of whom.
    """

    capacity: Capacity
    cards: tuple[Card, ...] = ()
    most_idle: int = -1
    free: int = 0
    fit: int = 0
    problems: tuple[str, ...] = ()

    def takes(self, request: GpuRequest) -> bool:
        """Whether `place` finds cards for it."""
        if request.memory and request.number:
            return False
        return (0 < request.memory <= self.most_idle) or (0 < request.number <= self.free)

    def place(self, request: GpuRequest) -> tuple[int, ...]:
        """The indexes of the cards it would get; () where it gets none.

        By memory: the lowest index whose idle memory suffices. By number: the lowest indexes of
        cards that have no pod. A request for both gets none.
        """
        if not self.takes(request):
            return ()
        if request.memory:
            for index, card in enumerate(self.cards):
                if card.takes(request):
                    return (index,)
        free = [index for index, card in enumerate(self.cards) if card.takes(request)]
        return tuple(free[: request.number])


def capacity_of(memory: str | float | None, number: str | float | None) -> Capacity:
    """From the two quantities of ``status.capacity``; None: it has no such line.

    Without ``memory`` cards can be given whole, and no memory of them.
    """
    try:
        count = parse_quantity(number) if number is not None else 0
        total = parse_quantity(memory) if memory is not None else 0
    except ValueError as error:
        return Capacity(problem=f"its capacity is not understood: {error}")
    if number is None:
        return Capacity(problem=f"its capacity has no {GPU_NUMBER}")
    if not 0 < count <= MOST_CARDS:
        return Capacity(problem=f"its capacity says {count} of {GPU_NUMBER}")
    if memory is None:
        return Capacity(count, 0, f"its capacity has no {GPU_MEMORY}")
    return Capacity(count, max(0, total) // count)


def account(capacity: Capacity, unhealthy_ids: str | None, claims: Iterable[Claim]) -> NodeGpus:
    """The node's state.

    Args:
        capacity: Of `capacity_of`.
        unhealthy_ids: The node's annotation as it stands; None: it has none.
        claims: Of the pods that have not ended.
    """
    unfit, problem = parse_ids(unhealthy_ids)
    problems = [each for each in (capacity.problem, problem) if each]
    idle = [capacity.card_memory] * capacity.number
    pods = [0] * capacity.number
    for claim in claims:
        for index in _indexes(claim, capacity.number, problems):
            pods[index] += 1
            idle[index] = 0 if claim.request.number else idle[index] - claim.request.memory
    cards = tuple(Card(max(0, idle[i]), pods[i], i not in unfit) for i in range(capacity.number))
    return _summed(capacity, cards, tuple(problems))


def _summed(capacity: Capacity, cards: Sequence[Card], problems: tuple[str, ...]) -> NodeGpus:
    fit = [card for card in cards if card.fit]
    return NodeGpus(
        capacity,
        tuple(cards),
        max((card.idle for card in fit), default=-1),
        sum(not card.pods for card in fit),
        len(fit),
        problems,
    )


def _indexes(claim: Claim, number: int, problems: list[str]) -> Sequence[int]:
    """The cards of a claim that are there; what is wrong with it goes to ``problems``."""
    if claim.problem:
        problems.append(f"pod {claim.pod}: {claim.problem}")
        return ()
    if claim.given is None:
        problems.append(f"pod {claim.pod} has no {GPU_INDEX}: its GPUs are not known")
        return ()
    try:
        indexes = sorted(parse_index(claim.given))
    except ValueError as error:
        problems.append(f"pod {claim.pod}: {error}")
        return ()
    outside = [index for index in indexes if index >= number]
    if outside:
        problems.append(f"pod {claim.pod} has GPU {outside[0]}, and the node has {number}")
    return [index for index in indexes if index < number]
