from __future__ import annotations

import pytest

from gpupods.accounting.cards import Capacity, Claim, NodeGpus, account
from gpupods.accounting.refusal import explain, why_not
from gpupods.accounting.request import GpuRequest
from gpupods.node_annotations import UnfitGpu, UnfitStanding, format_health

CARD = 4096
HALF = Claim("team/pod", GpuRequest(2048, 0), "1")


def state(cards: int = 2, unhealthy: str | None = None, *claims: Claim) -> NodeGpus:
    return account(Capacity(cards, CARD), unhealthy, claims)


def unfit(index: int, reason: str) -> str | None:
    return format_health([UnfitGpu(index, "GPU-1", "0:0:0.0", UnfitStanding.UNFIT, reason)])


@pytest.mark.parametrize(
    ("found", "request_", "reason", "for_good"),
    [
        (account(Capacity(), None, ()), (1, 0), "no GPUs that are shared", True),
        (account(Capacity(2, 0), None, ()), (1, 0), "no GPUs that are shared", True),
        (account(Capacity(), None, ()), (0, 1), "no GPUs that are given", True),
        (state(2, "0,1"), (1, 0), "every GPU is unfit", True),
        (state(2), (CARD + 1, 0), "no GPU has 4097 of volcano.sh/gpu-memory", True),
        (state(1, None, HALF._replace(given="0")), (2049, 0), "no fit GPU has 2049", False),
        (state(2), (0, 3), "fewer than 3 GPUs", True),
        (state(2, "0"), (0, 2), "fewer than 2 fit GPUs", True),
        (state(2, None, HALF), (0, 2), "fewer than 2 fit GPUs without a pod", False),
        (state(2), (1, 1), "the pod asks for volcano.sh/gpu-memory and", True),
    ],
)
def test_the_reason_that_nodes_share(
    found: NodeGpus,
    request_: tuple[int, int],
    reason: str,
    for_good: bool,  # noqa: FBT001
) -> None:
    request = GpuRequest(*request_)
    assert not found.takes(request)
    refusal = why_not(found, request)
    assert refusal.reason.startswith(reason)
    assert refusal.for_good is for_good


def test_one_node_card_by_card() -> None:
    found = state(2, "0", HALF)
    health = unfit(0, "XID 79: the GPU has fallen off the bus")
    assert explain("gpu-7", found, GpuRequest(3000, 0), health) == (
        "node gpu-7: GPU 0 is unfit (XID 79: the GPU has fallen off the bus), "
        "GPU 1 has 2048 of 4096 idle"
    )
    assert explain("gpu-7", found, GpuRequest(0, 2), None) == (
        "node gpu-7: GPU 0 is unfit, GPU 1 has 1 pod"
    )


def test_a_node_without_gpus_says_what_its_capacity_lacks() -> None:
    empty = account(Capacity(problem="its capacity has no volcano.sh/gpu-number"), None, ())
    said = explain("cpu-1", empty, GpuRequest(1, 0), None)
    assert said == "node cpu-1: its capacity has no volcano.sh/gpu-number"


def test_of_a_pod_that_asks_for_both_no_card_need_be_told() -> None:
    assert explain("gpu-7", state(), GpuRequest(1, 1), None).startswith("the pod asks for")


def test_a_big_node_and_a_long_reason_stay_short() -> None:
    found = state(16, "0")
    said = explain("gpu-7", found, GpuRequest(CARD + 1, 0), unfit(0, "x" * 500))
    assert said.endswith("GPU 7 has 4096 of 4096 idle, 8 more")
    assert len(said) < 400


def test_what_was_not_understood_is_told() -> None:
    found = state(2, "0,1", Claim("team/lost", GpuRequest(1, 0), None))
    said = explain("gpu-7", found, GpuRequest(1, 0), "not JSON")
    assert said == (
        "node gpu-7: GPU 0 is unfit, GPU 1 is unfit; pod team/lost has no volcano.sh/gpu-index: "
        "its GPUs are not known"
    )
