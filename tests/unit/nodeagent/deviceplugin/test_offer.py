"""What the kubelet is told of: each GPU with its own memory, and never fewer than there are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from gpupods.identity import GpuUuid
from nodeagent.deviceplugin.offer import KUBELET_LIMIT_BYTES, Card, TooManyError, encode, offer
from nodeagent.deviceplugin.terms import DevicePluginMode, HealthReport, Terms
from nodeagent.kubelet_api import deviceplugin_pb2 as pb

SHARE, NUMBER = DevicePluginMode.SHARE, DevicePluginMode.NUMBER


def card(index: int, memory_mib: int | None = 1000, *, fit: bool = True) -> Card:
    return Card(index, GpuUuid(f"GPU-{index}"), memory_mib, "" if fit else "XID 79")


def terms(
    mode: DevicePluginMode = SHARE, health: HealthReport = HealthReport.AUTO, unit_mib: int = 100
) -> Terms:
    return Terms(mode, health, unit_mib)


def told(resource: str, cards: list[Card], how: Terms) -> dict[str, str]:
    answer = pb.ListAndWatchResponse.FromString(encode(offer(resource, cards, how), how))
    return {each.ID: each.health for each in answer.devices}


def test_each_gpu_has_as_many_units_as_its_own_memory_holds() -> None:
    ids = told(GPU_MEMORY, [card(0, 350), card(1, 199)], terms())
    assert list(ids) == ["0-0", "0-1", "0-2", "1-0"]


def test_whole_gpus_go_by_their_uuids() -> None:
    assert list(told(GPU_NUMBER, [card(0), card(1)], terms())) == ["GPU-0", "GPU-1"]


def test_a_gpu_of_unknown_memory_counts_as_a_gpu_and_with_no_memory() -> None:
    cards = [card(0), card(1, None)]
    assert {each.partition("-")[0] for each in told(GPU_MEMORY, cards, terms())} == {"0"}
    assert len(told(GPU_NUMBER, cards, terms())) == 2


@pytest.mark.parametrize(
    ("mode", "health", "resource", "expected"),
    [
        (SHARE, HealthReport.AUTO, GPU_MEMORY, "Healthy"),
        (SHARE, HealthReport.AUTO, GPU_NUMBER, "Healthy"),
        (SHARE, HealthReport.ANNOTATION, GPU_MEMORY, "Healthy"),
        (SHARE, HealthReport.KUBELET, GPU_MEMORY, "Unhealthy"),
        (SHARE, HealthReport.KUBELET, GPU_NUMBER, "Unhealthy"),
        (NUMBER, HealthReport.AUTO, GPU_NUMBER, "Unhealthy"),
        (NUMBER, HealthReport.KUBELET, GPU_NUMBER, "Unhealthy"),
        (NUMBER, HealthReport.ANNOTATION, GPU_NUMBER, "Healthy"),
    ],
)
def test_who_is_told_of_an_unfit_gpu(
    mode: DevicePluginMode, health: HealthReport, resource: str, expected: str
) -> None:
    ids = told(resource, [card(0), card(1, fit=False)], terms(mode, health))
    of_unfit = {state for name, state in ids.items() if name.startswith(("1-", "GPU-1"))}
    of_fit = {state for name, state in ids.items() if name.startswith(("0-", "GPU-0"))}
    assert (of_unfit, of_fit) == ({expected}, {"Healthy"})


def test_where_whole_gpus_alone_are_given_no_memory_can_be_had() -> None:
    for health in HealthReport:
        assert set(told(GPU_MEMORY, [card(0)], terms(NUMBER, health)).values()) == {"Unhealthy"}


@given(
    st.lists(st.tuples(st.integers(0, 200_000), st.booleans()), min_size=1, max_size=4),
    st.sampled_from([SHARE, NUMBER]),
    st.sampled_from(list(HealthReport)),
)
def test_health_never_changes_the_count(
    gpus: list[tuple[int, bool]], mode: DevicePluginMode, health: HealthReport
) -> None:
    how = terms(mode, health, 1000)
    now = [card(index, mib, fit=fit) for index, (mib, fit) in enumerate(gpus)]
    well = [card(index, mib) for index, (mib, _) in enumerate(gpus)]
    for resource in (GPU_MEMORY, GPU_NUMBER):
        assert told(resource, now, how).keys() == told(resource, well, how).keys()


def test_a_list_that_the_kubelet_would_not_take_is_refused_with_what_to_do() -> None:
    cards = [card(index, 81_920) for index in range(8)]
    with pytest.raises(TooManyError, match="--device-plugin-memory-unit to 8 or more"):
        encode(offer(GPU_MEMORY, cards, terms(unit_mib=1)), terms(unit_mib=1))


@settings(deadline=None, max_examples=12)
@given(st.integers(1, 16), st.integers(1_000, 200_000))
def test_the_unit_that_is_named_fits(gpus: int, memory_mib: int) -> None:
    cards = [card(index, memory_mib) for index in range(gpus)]
    how = terms(unit_mib=1)
    try:
        encode(offer(GPU_MEMORY, cards, how), how)
    except TooManyError as error:
        unit = int(str(error).partition("unit to ")[2].partition(" ")[0])
        better = terms(unit_mib=unit)
        assert len(encode(offer(GPU_MEMORY, cards, better), better)) <= KUBELET_LIMIT_BYTES
