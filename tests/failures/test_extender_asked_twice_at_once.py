"""A pod is to be bound twice at once: what the one attempt binds, the other does not free."""

from __future__ import annotations

import asyncio

from aiohttp import web

from tests.failures.extending import CARD, extending
from tests.failures.kube_script import until


async def test_the_first_attempt_comes_last() -> None:
    async with extending() as extended:
        go_on = asyncio.Event()

        async def late(request: web.Request) -> web.StreamResponse:
            await go_on.wait()
            return await extended.server.bind(request)

        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(late)
        waiting = asyncio.create_task(extended.bind("first"))
        await until(lambda: len(extended.server.asked) == 1, "the first attempt")
        assert await extended.bind("first") == ""
        go_on.set()
        assert "already assigned" in await waiting
        extended.pod("second", memory=CARD)
        assert "GPU 0 has 0 of 4096 idle" in await extended.bind("second")
