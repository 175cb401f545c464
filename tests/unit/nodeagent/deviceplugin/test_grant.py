"""What a container is given, and the words of what it is not given."""

from __future__ import annotations

import pytest

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from gpupods.errors import StatusError
from gpupods.identity import GpuUuid, PodRef, PodUid
from nodeagent.deviceplugin.claims import Match
from nodeagent.deviceplugin.grant import grant, preferred
from nodeagent.deviceplugin.offer import Card
from nodeagent.deviceplugin.pods import Ask, GpuPod
from nodeagent.deviceplugin.terms import DevicePluginMode, HealthReport, Terms

CARDS = (
    Card(0, GpuUuid("GPU-a"), 24_000),
    Card(1, GpuUuid("GPU-b"), 80_000),
    Card(2, GpuUuid("GPU-c"), None),
    Card(3, GpuUuid("GPU-d"), 80_000, "XID 79: the GPU has fallen off the bus"),
)
SHARE = Terms(DevicePluginMode.SHARE, HealthReport.AUTO, 512)
NUMBER = Terms(DevicePluginMode.NUMBER, HealthReport.AUTO, 512)


def asking(resource: str, count: int, *indexes: int, first: int = 0, problem: str = "") -> Match:
    ask = Ask("main", resource, count, first)
    return Match(GpuPod(PodUid("u"), PodRef("team", "one"), (ask,), indexes, problem), 0)


def test_memory_of_one_gpu() -> None:
    assert grant(asking(GPU_MEMORY, 4, 1), CARDS, SHARE) == {
        "NVIDIA_VISIBLE_DEVICES": "GPU-b",
        "VOLCANO_GPU_ALLOCATED": "2048",
        "VOLCANO_GPU_MEMORY_TOTAL": "80000",
    }


@pytest.mark.parametrize("terms", [SHARE, NUMBER])
def test_whole_gpus(terms: Terms) -> None:
    assert grant(asking(GPU_NUMBER, 2, 0, 1), CARDS, terms) == {
        "NVIDIA_VISIBLE_DEVICES": "GPU-a,GPU-b",
        "VOLCANO_GPU_ALLOCATED": "2",
        "VOLCANO_GPU_MEMORY_TOTAL": "24000",
    }


def test_a_container_s_own_part_of_the_pod_s_gpus() -> None:
    given = grant(asking(GPU_NUMBER, 1, 0, 1, first=1), CARDS, NUMBER)
    assert given["NVIDIA_VISIBLE_DEVICES"] == "GPU-b"


def test_a_memory_that_is_not_known_is_not_told() -> None:
    assert "VOLCANO_GPU_MEMORY_TOTAL" not in grant(asking(GPU_NUMBER, 1, 2), CARDS, NUMBER)


@pytest.mark.parametrize(
    ("found", "terms", "words"),
    [
        (asking(GPU_MEMORY, 4, 1), NUMBER, "this node gives whole GPUs only"),
        (asking(GPU_MEMORY, 4, problem="it has no annotation x"), SHARE, "it has no annotation x"),
        (asking(GPU_MEMORY, 4, 7), SHARE, "GPU 7, which this node has not; it has 0,1,2,3"),
        (asking(GPU_MEMORY, 4, 3), SHARE, "GPU 3, which is unfit: XID 79"),
        (asking(GPU_NUMBER, 2, 0, 3), NUMBER, "GPU 3, which is unfit: XID 79"),
        (asking(GPU_MEMORY, 4, 0, 1), SHARE, "'0,1' of team/one does not fit"),
        (asking(GPU_NUMBER, 2, 0), NUMBER, "'0' of team/one does not fit"),
        (asking(GPU_NUMBER, 1, 0, first=1), NUMBER, "'0' of team/one does not fit"),
    ],
)
def test_what_cannot_be_given(found: Match, terms: Terms, words: str) -> None:
    with pytest.raises(StatusError) as refused:
        grant(found, CARDS, terms)
    assert words in refused.value.message
    assert "team/one" in refused.value.message


def test_the_devices_of_the_chosen_gpu_are_preferred() -> None:
    free = ["0-0", "1-5", "1-1", "10-1", "0-3"]
    assert preferred(asking(GPU_MEMORY, 2, 1), CARDS, free, []) == ["1-5", "1-1"]
    assert preferred(asking(GPU_MEMORY, 2, 1), CARDS, free, ["1-1"]) == ["1-1", "1-5"]
    assert preferred(asking(GPU_MEMORY, 3, 1), CARDS, free, []) == []
    whole = preferred(asking(GPU_NUMBER, 1, 0, 1, first=1), CARDS, ["GPU-a", "GPU-b"], [])
    assert whole == ["GPU-b"]
