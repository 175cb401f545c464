"""The watch is dead without a word: what was bound stays given, for however long it is not seen."""

from __future__ import annotations

from tests.failures.extending import CARD, HOLD_S, extending


async def test_what_is_bound_and_not_seen_is_not_given_again() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        assert await extended.bind("first") == ""
        extended.now += 10 * HOLD_S
        extended.pod("second", memory=CARD)
        assert "GPU 0 has 0 of 4096 idle" in await extended.bind("second")
        extended.show("first")
        assert "GPU 0 has 0 of 4096 idle" in await extended.bind("second")
        extended.delete("first")
        assert await extended.bind("second") == ""


async def test_it_is_free_when_the_pod_is_found_to_be_gone() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        assert await extended.bind("first") == ""
        extended.now += 10 * HOLD_S
        extended.delete("first")
        extended.pod("second", memory=CARD)
        assert await extended.bind("second") == ""
