from __future__ import annotations

import pytest

from controller.extender.decide import (
    HIGHEST_SCORE,
    MOST_EXPLAINED,
    UNKNOWN_NODE,
    Refused,
    fitting,
    refused,
    score,
)
from gpupods.accounting.cards import Capacity, Claim, NodeGpus, account
from gpupods.accounting.request import GpuRequest

CARD = 4096


def state(cards: int = 2, unhealthy: str | None = None, *used: tuple[int, str]) -> NodeGpus:
    claims = [Claim("team/pod", GpuRequest(memory, 0), index) for memory, index in used]
    return account(Capacity(cards, CARD), unhealthy, claims)


def refused_of(nodes: dict[str, NodeGpus], memory: int) -> Refused:
    request = GpuRequest(memory, 0)
    return refused(nodes, list(nodes), request, lambda name, _: f"{name} in detail")


def test_which_take_it() -> None:
    nodes = {"full": state(1, None, (CARD, "0")), "free": state(), "unfit": state(1, "0")}
    names = ["unfit", "free", "nobody", "full"]
    asked = GpuRequest(CARD, 0)
    assert fitting(nodes, names, asked, set()) == ["free"]
    assert fitting(nodes, names, asked, {"full"}) == ["free", "full"]
    assert fitting(nodes, names, asked, {"nobody"}) == ["free"]


def test_why_others_do_not() -> None:
    found = refused_of({"full": state(1, None, (CARD, "0")), "unfit": state(1, "0")}, CARD)
    assert found == Refused({"full": "full in detail"}, {"unfit": "unfit in detail"})


def test_a_node_that_nobody_knows() -> None:
    found = refused({}, ["n"], GpuRequest(1, 0), lambda name, _: name)
    assert found == Refused({}, {"n": UNKNOWN_NODE})


def test_few_are_explained_and_many_share_their_reasons() -> None:
    full = {f"n{number}": state(1, None, (CARD, "0")) for number in range(MOST_EXPLAINED)}
    assert refused_of(full, 1).for_now["n1"] == "n1 in detail"
    many = full | {"unfit": state(3, "0,1,2"), "small": account(Capacity(1, 1), None, ())}
    found = refused_of(many, 2)
    assert set(found.for_now.values()) == {"no fit GPU has 2 of volcano.sh/gpu-memory idle"}
    assert found.for_good == {
        "unfit": "every GPU is unfit",
        "small": "no GPU has 2 of volcano.sh/gpu-memory",
    }


@pytest.mark.parametrize(
    ("found", "request_", "expected"),
    [
        (state(), (CARD, 0), 10),
        (state(), (CARD // 4, 0), 2.5),
        (state(2, None, (CARD // 2, "0")), (CARD // 4, 0), 7.5),
        (state(2, "0", (CARD // 2, "0")), (CARD // 4, 0), 2.5),
        (state(4), (0, 1), 2.5),
        (state(4, None, (1, "2")), (0, 1), 5),
        (state(4, "0,1"), (0, 2), 10),
        (state(1, "0"), (1, 0), 0),
        (None, (1, 0), 0),
    ],
)
def test_what_is_broken_into_already_comes_first(
    found: NodeGpus | None, request_: tuple[int, int], expected: float
) -> None:
    given = score(found, GpuRequest(*request_))
    assert given == expected
    assert 0 <= given <= HIGHEST_SCORE
