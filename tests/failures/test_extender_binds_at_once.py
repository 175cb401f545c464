"""Many pods are bound at one moment: no card is given beyond its memory, whatever fails."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.failures.extending import CARD, extending, hang, refuse


async def test_two_pods_and_room_for_one() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        for name in ("first", "second"):
            pod = extended.pod(name, memory=CARD)
            assert (await extended.filter(pod))["NodeNames"] == ["node-1"]
        errors = await asyncio.gather(extended.bind("first"), extended.bind("second"))
        assert sorted(map(bool, errors)) == [False, True]
        assert len(extended.server.bound) == 1
        (refused,) = filter(None, errors)
        assert "asks for 4096 of volcano.sh/gpu-memory: node node-1: GPU 0 has 0" in refused


async def test_two_pods_that_want_whole_cards() -> None:
    async with extending() as extended:
        extended.node(gpus=3)
        for name in ("first", "second"):
            extended.pod(name, number=2)
        errors = await asyncio.gather(extended.bind("first"), extended.bind("second"))
        assert sorted(map(bool, errors)) == [False, True]


@pytest.mark.parametrize("shown", [True, False], ids=["the cache hears", "the cache does not"])
async def test_a_hundred_pods(*, shown: bool) -> None:
    async with extending() as extended:
        extended.node(gpus=8, unhealthy="3")
        names = [f"pod-{number}" for number in range(100)]
        for name in names:
            extended.pod(name, memory=CARD // 3)

        async def bind(name: str) -> str:
            error = await extended.bind(name)
            if shown and not error:
                extended.show(name)
            return error

        extended.server.next_answers += [hang, refuse(500), refuse(409)]
        errors = await asyncio.gather(*map(bind, names))
        unknown = sum("no answer" in error or " 500 " in error for error in errors)
        assert unknown == 2
        cards = Counter(map(extended.given, extended.server.bound))
        assert max(cards.values()) <= 3
        assert "3" not in cards
        assert sum(cards.values()) + unknown >= 7 * 3 - 1, "nearly all of it was given"
        again = await asyncio.gather(*map(bind, names))
        cards = Counter(map(extended.given, extended.server.bound))
        assert cards == dict.fromkeys("0124567", 3), again
