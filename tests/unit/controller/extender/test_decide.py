from __future__ import annotations

import pytest

from controller.extender.decide import HIGHEST_SCORE, MOST_EXPLAINED, judge, score
from gpupods.accounting.cards import Capacity, Claim, NodeGpus, account
from gpupods.accounting.request import GpuRequest

CARD = 4096


def state(cards: int = 2, unhealthy: str | None = None, *used: tuple[int, str]) -> NodeGpus:
    claims = [Claim("team/pod", GpuRequest(memory, 0), index) for memory, index in used]
    return account(Capacity(cards, CARD), unhealthy, claims)


def verdicts_of(
    nodes: dict[str, NodeGpus], memory: int, *names: str, kept: str = ""
) -> tuple[list[str], dict[str, str], dict[str, str]]:
    found = judge(
        nodes,
        names or list(nodes),
        GpuRequest(memory, 0),
        lambda name: name == kept,
        lambda name, _: f"{name} in detail",
    )
    return found.fitting, found.failed, found.failed_for_good


def test_three_kinds_of_verdict() -> None:
    nodes = {"free": state(), "full": state(1, None, (CARD, "0")), "unfit": state(1, "0")}
    assert verdicts_of(nodes, CARD) == (
        ["free"],
        {"full": "full in detail"},
        {"unfit": "unfit in detail"},
    )


def test_a_node_that_keeps_cards_for_the_pod_takes_it() -> None:
    nodes = {"full": state(1, None, (CARD, "0"))}
    assert verdicts_of(nodes, CARD, kept="full") == (["full"], {}, {})


def test_few_are_explained_and_many_share_their_reasons() -> None:
    full = {f"n{number}": state(1, None, (CARD, "0")) for number in range(MOST_EXPLAINED + 1)}
    _, failed, _ = verdicts_of(full, 1)
    assert set(failed.values()) == {"no fit GPU has 1 of volcano.sh/gpu-memory idle"}
    _, failed, _ = verdicts_of(full, 1, *list(full)[1:])
    assert failed["n1"] == "n1 in detail"


def test_the_order_of_nodes_is_kept() -> None:
    nodes = {name: state() for name in ("c", "a", "b")}
    assert verdicts_of(nodes, 1, "b", "c", "a") == (["b", "c", "a"], {}, {})


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
