"""Whether GPUs are free for a pod beside the others of its node."""

from __future__ import annotations

import pytest

from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from gpupods.identity import GpuUuid, PodRef, PodUid
from nodeagent.deviceplugin.offer import Card
from nodeagent.deviceplugin.pods import Ask, GpuPod
from nodeagent.deviceplugin.room import has_room

CARDS = (Card(0, GpuUuid("a"), 24_000), Card(1, GpuUuid("b"), 80_000), Card(2, GpuUuid("c"), None))
UNIT_MIB = 1_000


def pod(name: str, *indexes: int, memory: int = 0, number: int = 0) -> GpuPod:
    counts = {GPU_MEMORY: memory, GPU_NUMBER: number}
    asks = tuple(Ask("main", resource, count, 0) for resource, count in counts.items() if count)
    return GpuPod(PodUid(name), PodRef("team", name), asks, indexes)


@pytest.mark.parametrize(
    ("asks", "indexes", "others", "room"),
    [
        (pod("p", memory=24), (0,), [], True),
        (pod("p", memory=25), (0,), [], False),
        (pod("p", memory=25), (1,), [], True),
        (pod("p", memory=14), (0,), [pod("o", 0, memory=10)], True),
        (pod("p", memory=15), (0,), [pod("o", 0, memory=10)], False),
        (pod("p", memory=15), (0,), [pod("o", 1, memory=10)], True),
        (pod("p", memory=15), (0,), [pod("p", 0, memory=15)], True),
        (pod("p", memory=1), (0,), [pod("o", 0, number=1)], False),
        (pod("p", memory=1), (2,), [], False),
        (pod("p", memory=1), (7,), [], False),
        (pod("p", memory=1), (0, 1), [], False),
        (pod("p", number=2), (0, 1), [], True),
        (pod("p", number=2), (0,), [], False),
        (pod("p", number=1), (0, 1), [], False),
        (pod("p", number=2), (0, 1), [pod("o", 1, memory=1)], False),
        (pod("p", memory=1, number=1), (0,), [], False),
    ],
)
def test_room(asks: GpuPod, indexes: tuple[int, ...], others: list[GpuPod], *, room: bool) -> None:
    assert has_room(asks, indexes, others, CARDS, UNIT_MIB) is room


def test_what_a_pod_needs_is_its_neediest_moment() -> None:
    asks = (Ask("init", GPU_NUMBER, 3, 1), Ask("a", GPU_NUMBER, 1, 1), Ask("b", GPU_NUMBER, 1, 2))
    made = GpuPod(PodUid("u"), PodRef("team", "p"), asks)
    assert (made.needs(GPU_NUMBER), made.needs(GPU_MEMORY)) == (4, 0)
