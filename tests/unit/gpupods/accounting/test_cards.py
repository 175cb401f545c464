"""Cards and who gets them, with what must hold whatever is asked for in whatever order."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.accounting.cards import Capacity, Card, Claim, NodeGpus, account, capacity_of
from gpupods.accounting.indexes import format_index, parse_index
from gpupods.accounting.request import GpuRequest

CARD = 4096


def memory(units: int) -> GpuRequest:
    return GpuRequest(units, 0)


def number(cards: int) -> GpuRequest:
    return GpuRequest(0, cards)


def claim(request: GpuRequest, given: str | None) -> Claim:
    return Claim("team/pod", request, given)


def state(cards: int = 3, unhealthy: str | None = None, *claims: Claim) -> NodeGpus:
    return account(Capacity(cards, CARD), unhealthy, claims)


def test_memory_goes_to_the_lowest_index_that_has_it_idle() -> None:
    assert state().place(memory(1)) == (0,)
    busy = claim(memory(3000), "0")
    assert state(3, None, busy).place(memory(1096)) == (0,)
    assert state(3, None, busy).place(memory(1097)) == (1,)
    assert state(3, None, busy).place(memory(CARD + 1)) == ()


def test_number_goes_to_cards_without_a_pod() -> None:
    busy = claim(memory(1), "1")
    assert state(3, None, busy).place(number(2)) == (0, 2)
    assert state(3, None, busy).place(number(3)) == ()


def test_a_card_that_is_given_whole_has_no_idle_memory() -> None:
    whole = claim(number(2), "0,1")
    assert state(3, None, whole).place(memory(1)) == (2,)
    assert state(3, None, whole).place(number(2)) == ()


def test_an_unfit_card_is_left_out_and_the_others_keep_their_index() -> None:
    assert state(3, "0").place(memory(1)) == (1,)
    assert state(3, "0").place(number(2)) == (1, 2)
    assert state(3, "0,1,2").place(memory(1)) == ()


def test_what_runs_on_an_unfit_card_stays_counted_there() -> None:
    found = state(2, "0", claim(memory(CARD), "0"))
    assert found.cards[0].idle == 0
    assert found.place(memory(CARD)) == (1,)


def test_a_pod_that_asks_for_both_gets_none() -> None:
    assert state().place(GpuRequest(1, 1)) == ()
    assert not state().takes(GpuRequest(1, 1))


def test_a_pod_that_asks_for_nothing_gets_none() -> None:
    assert state().place(GpuRequest(0, 0)) == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "pod team/pod has no volcano.sh/gpu-index"),
        ("zero", "pod team/pod: volcano.sh/gpu-index is 'zero'"),
        ("0,9", "pod team/pod has GPU 9, and the node has 3"),
    ],
)
def test_a_pod_whose_annotation_is_odd(given: str | None, said: str) -> None:
    found = state(3, None, claim(memory(CARD), given))
    (problem,) = found.problems
    assert problem.startswith(said)
    counted = (1,) if given == "0,9" else (0,)
    assert found.place(memory(CARD)) == counted, "what can be read of it counts"


def test_an_odd_annotation_of_the_node() -> None:
    found = state(3, "0,x, 2")
    assert [card.fit for card in found.cards] == [False, True, False]
    assert found.problems == ("volcano.sh/gpu-unhealthy-ids is '0,x, 2': 'x' is no index of a GPU",)


def test_an_unfit_index_beyond_the_count() -> None:
    assert state(2, "7").place(number(2)) == (0, 1)


def test_a_node_that_is_given_more_than_it_has() -> None:
    found = state(1, None, claim(memory(CARD), "0"), claim(memory(CARD), "0"))
    assert found.cards[0] == Card(0, 2, fit=True)


@pytest.mark.parametrize(
    ("of_memory", "of_number", "capacity"),
    [
        ("8192", "2", Capacity(2, 4096)),
        ("8Ki", "2", Capacity(2, 4096)),
        ("8193", "2", Capacity(2, 4096)),
        (None, None, Capacity(problem="its capacity has no volcano.sh/gpu-number")),
        ("8192", None, Capacity(problem="its capacity has no volcano.sh/gpu-number")),
        (None, "2", Capacity(2, 0, "its capacity has no volcano.sh/gpu-memory")),
        ("8192", "0", Capacity(problem="its capacity says 0 of volcano.sh/gpu-number")),
        ("1", "9Gi", Capacity(problem="its capacity says 9663676416 of volcano.sh/gpu-number")),
        ("-8", "2", Capacity(2, 0)),
    ],
)
def test_capacity(of_memory: str | None, of_number: str | None, capacity: Capacity) -> None:
    assert capacity_of(of_memory, of_number) == capacity


def test_a_capacity_that_is_no_quantity() -> None:
    found = capacity_of("lots", "2")
    assert (found.number, found.card_memory) == (0, 0)
    assert found.problem.startswith("its capacity is not understood: 'lots' is no quantity")


def test_without_memory_cards_are_given_whole_all_the_same() -> None:
    found = account(capacity_of(None, "2"), None, ())
    assert found.place(number(2)) == (0, 1)
    assert found.place(memory(1)) == ()


# What must hold

requests = st.one_of(st.integers(1, CARD + 1).map(memory), st.integers(1, 5).map(number))
unfit_sets = st.frozensets(st.integers(0, 5), max_size=4)


def ids(unfit: frozenset[int]) -> str | None:
    return ",".join(map(str, sorted(unfit))) or None


def give_all(cards: int, unfit: frozenset[int], asked: Sequence[GpuRequest]) -> list[Claim]:
    """Give to one after the other, as a scheduler does."""
    claims: list[Claim] = []
    for request in asked:
        found = account(Capacity(cards, CARD), ids(unfit), claims)
        indexes = found.place(request)
        assert bool(indexes) == found.takes(request)
        if indexes:
            claims.append(claim(request, format_index(indexes)))
    return claims


@given(st.integers(1, 5), unfit_sets, st.lists(requests, max_size=25))
def test_no_card_is_given_beyond_its_memory_nor_an_unfit_one(
    cards: int, unfit: frozenset[int], asked: list[GpuRequest]
) -> None:
    shared = [0] * cards
    whole = [0] * cards
    for one in give_all(cards, unfit, asked):
        assert one.given is not None
        for index in parse_index(one.given):
            assert index < cards
            assert index not in unfit
            shared[index] += one.request.memory
            whole[index] += bool(one.request.number)
    for index in range(cards):
        assert shared[index] <= CARD
        assert whole[index] <= 1
        assert not (whole[index] and shared[index])


@given(st.integers(1, 6), unfit_sets, st.integers(0, 5), st.lists(requests, max_size=12), requests)
def test_one_more_unfit_card_moves_no_other(
    cards: int, unfit: frozenset[int], more: int, asked: list[GpuRequest], request: GpuRequest
) -> None:
    claims = give_all(cards, unfit, asked)
    before = account(Capacity(cards, CARD), ids(unfit), claims)
    after = account(Capacity(cards, CARD), ids(unfit | {more}), claims)
    others = [index for index in range(cards) if index != more]
    assert [after.cards[i] for i in others] == [before.cards[i] for i in others]
    if more not in before.place(request):
        assert after.place(request) == before.place(request)


@given(st.integers(1, 5), st.lists(requests, max_size=12), st.randoms())
def test_what_a_pod_leaves_can_be_given_to_one_like_it(
    cards: int, asked: list[GpuRequest], random: Random
) -> None:
    claims = give_all(cards, frozenset(), asked)
    if claims:
        gone = claims.pop(random.randrange(len(claims)))
        assert account(Capacity(cards, CARD), None, claims).takes(gone.request)


@given(st.lists(st.tuples(requests, st.none() | st.text(max_size=12)), max_size=6), st.text())
def test_whatever_stands_in_the_annotations_there_is_a_state(
    pods: list[tuple[GpuRequest, str | None]], unhealthy: str
) -> None:
    claims = [Claim("team/pod", request, given) for request, given in pods]
    found = account(Capacity(2, CARD), unhealthy, claims)
    assert len(found.cards) == 2
    assert all(0 <= card.idle <= CARD for card in found.cards)
