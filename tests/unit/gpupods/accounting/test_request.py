from __future__ import annotations

import pytest

from gpupods.accounting.request import NOTHING, ContainerLimits, GpuRequest, request_of


def init(memory: str, *, sidecar: bool = False) -> ContainerLimits:
    return ContainerLimits(memory, init=True, sidecar=sidecar)


def test_a_pod_without_containers_asks_for_nothing() -> None:
    assert request_of([]) == NOTHING
    assert request_of([ContainerLimits()]) == NOTHING


def test_containers_run_together() -> None:
    assert request_of([ContainerLimits("1k"), ContainerLimits("24")]) == GpuRequest(1024, 0)
    assert request_of([ContainerLimits(number=2), ContainerLimits(number="1")]) == GpuRequest(0, 3)


def test_an_init_container_runs_before_them() -> None:
    assert request_of([init("5"), ContainerLimits("3")]).memory == 5
    assert request_of([init("5"), init("4"), ContainerLimits("6")]).memory == 6


def test_a_sidecar_runs_beside_all_that_come_after_it() -> None:
    assert request_of([init("2", sidecar=True), ContainerLimits("6")]).memory == 8
    assert request_of([init("2", sidecar=True), init("7"), ContainerLimits("6")]).memory == 9
    assert request_of([init("7"), init("2", sidecar=True), ContainerLimits("1")]).memory == 7


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("many", r"its limit of volcano.sh/gpu-memory: 'many' is no quantity"),
        ("-1", r"its limit of volcano.sh/gpu-memory is -1: write 0 or more"),
    ],
)
def test_a_limit_that_is_no_quantity(limit: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        request_of([ContainerLimits(limit)])


def test_in_words() -> None:
    assert str(GpuRequest(2048, 0)) == "2048 of volcano.sh/gpu-memory"
    assert str(GpuRequest(0, 2)) == "2 of volcano.sh/gpu-number"
