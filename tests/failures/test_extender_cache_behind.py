"""The scheduler hears of a change first: a pod that it makes room for is not refused once more."""

from __future__ import annotations

import asyncio

from controller.extender.service import LAG_S
from tests.failures.extending import CARD, Json, extending


async def test_a_card_is_well_again() -> None:
    async with extending() as extended:
        extended.node(gpus=1, unhealthy="0")
        asked = asyncio.create_task(extended.filter(extended.pod("first", memory=1)))
        await asyncio.sleep(0)
        extended.node(gpus=1)
        assert (await asked)["NodeNames"] == ["node-1"]


async def test_a_pod_has_gone() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        await extended.bind("first")
        extended.show("first")
        asked = asyncio.create_task(extended.filter(extended.pod("second", memory=CARD)))
        await asyncio.sleep(0)
        extended.node("node-2", gpus=0)
        await asyncio.sleep(0)
        extended.delete("first")
        assert (await asked)["NodeNames"] == ["node-1"]


async def test_a_pod_that_the_controller_has_not_heard_of() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        pod: Json = extended.pod("first", memory=CARD, cached=False)
        assert (await extended.filter(pod))["NodeNames"] == ["node-1"]
        binding = asyncio.create_task(extended.bind("first"))
        await asyncio.sleep(0)
        extended.pod("first", memory=CARD)
        assert await binding == ""


async def test_a_node_that_the_controller_has_not_heard_of() -> None:
    async with extending() as extended:
        asked = asyncio.create_task(extended.filter(extended.pod("first", memory=1)))
        await asyncio.sleep(5 * LAG_S)
        extended.node(gpus=1)
        assert (await asked)["NodeNames"] == ["node-1"]
