"""A hold is set to less than a binding may take: it lasts for as long as that is under way."""

from __future__ import annotations

import asyncio

from aiohttp import web

from tests.failures.extending import CARD, HOLD_S, LIMIT_S, extending
from tests.failures.kube_script import until


async def test_the_cards_are_given_to_nobody_meanwhile() -> None:
    async with extending() as extended:
        go_on = asyncio.Event()

        async def slowly(request: web.Request) -> web.StreamResponse:
            await go_on.wait()
            return await extended.server.bind(request)

        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(slowly)
        binding = asyncio.create_task(extended.bind("first"))
        await until(lambda: len(extended.server.asked) == 1, "the binding")
        extended.now += HOLD_S + LIMIT_S / 2
        extended.pod("second", memory=CARD)
        assert "GPU 0 has 0 of 4096 idle" in await extended.bind("second")
        go_on.set()
        assert await binding == ""


async def test_a_scheduler_that_hangs_up_frees_nothing() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(extended.server.bind_and_say_nothing)
        binding = asyncio.create_task(extended.bind("first"))
        await until(lambda: "first" in extended.server.bound, "the binding")
        binding.cancel()
        await asyncio.wait({binding})
        extended.now += HOLD_S
        extended.pod("second", memory=CARD)
        assert "GPU 0 has 0 of 4096 idle" in await extended.bind("second")
        extended.now += LIMIT_S
        extended.show("first")
        assert "GPU 0 has 0 of 4096 idle" in await extended.bind("second")
