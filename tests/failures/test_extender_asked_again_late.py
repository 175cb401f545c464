"""Asked again just before a hold is over: the cards stay held while the second attempt is made."""

from __future__ import annotations

import asyncio

from aiohttp import web

from tests.failures.extending import CARD, HOLD_S, extending, hang
from tests.failures.kube_script import until


async def test_the_cards_are_given_to_nobody_meanwhile() -> None:
    async with extending() as extended:
        go_on = asyncio.Event()

        async def slowly(request: web.Request) -> web.StreamResponse:
            await go_on.wait()
            return await extended.server.bind(request)

        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.extend([hang, slowly])
        assert "no answer in time" in await extended.bind("first")
        extended.now += HOLD_S - 1
        binding = asyncio.create_task(extended.bind("first"))
        await until(lambda: len(extended.server.asked) == 2, "the second attempt")
        extended.now += 2
        extended.pod("second", memory=CARD)
        assert "GPU 0 has 0 of 4096 idle" in await extended.bind("second")
        go_on.set()
        assert await binding == ""
        assert extended.given("first") == "0"
