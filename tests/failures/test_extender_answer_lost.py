"""A pod was bound and nobody heard of it: asked again, it has the same cards, and is bound once."""

from __future__ import annotations

from tests.failures.extending import CARD, extending


async def test_the_scheduler_tries_again() -> None:
    async with extending() as extended:
        extended.node(gpus=2)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(extended.server.bind_and_say_nothing)
        assert "no answer in time" in await extended.bind("first")
        assert extended.given("first") == "0"
        assert "already assigned" in await extended.bind("first")
        extended.pod("second", memory=CARD)
        assert await extended.bind("second") == ""
        assert extended.given("second") == "1", "what the first has is not free"


async def test_the_cache_has_heard_of_it_meanwhile() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(extended.server.bind_and_say_nothing)
        await extended.bind("first")
        extended.show("first")
        assert await extended.bind("first") == ""
        assert len(extended.server.asked) == 1


async def test_it_was_bound_where_nobody_looks_for_it_any_more() -> None:
    """The scheduler has chosen another node meanwhile."""
    async with extending() as extended:
        extended.node("node-1", gpus=1)
        extended.node("node-2", gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(extended.server.bind_and_say_nothing)
        await extended.bind("first", "node-1")
        assert "already assigned" in await extended.bind("first", "node-2")
        for name in ("second", "third"):
            extended.pod(name, memory=CARD)
        assert "GPU 0 has 0 of 4096 idle" in await extended.bind("second", "node-1")
        assert await extended.bind("third", "node-2") == ""
