"""A card fails that is kept for a pod which may have been bound: it is given no second time."""

from __future__ import annotations

from tests.failures.extending import CARD, HOLD_S, extending, hang


async def test_the_pod_waits_until_it_is_known_that_it_was_not_bound() -> None:
    async with extending() as extended:
        extended.node(gpus=2)
        pod = extended.pod("first", memory=CARD)
        extended.server.next_answers.append(hang)
        assert "no answer in time" in await extended.bind("first")
        extended.node(gpus=2, unhealthy="0")
        error = await extended.bind("first")
        assert "GPU 0, which may have been given to it, is unfit or" in error
        assert len(extended.server.asked) == 1
        extended.now += HOLD_S
        assert (await extended.filter(pod))["NodeNames"] == ["node-1"]
        assert await extended.bind("first") == ""
        assert extended.given("first") == "1"


async def test_a_node_is_not_said_to_take_it_by_that_card() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        pod = extended.pod("first", memory=CARD)
        extended.server.next_answers.append(hang)
        await extended.bind("first")
        assert (await extended.filter(pod))["NodeNames"] == ["node-1"]
        extended.node(gpus=1, unhealthy="0")
        answer = await extended.filter(pod)
        assert answer["NodeNames"] == []
        assert answer["FailedAndUnresolvableNodes"] == {"node-1": "node node-1: GPU 0 is unfit"}


async def test_it_gets_the_card_when_that_is_well_again() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(hang)
        await extended.bind("first")
        extended.node(gpus=1, unhealthy="0")
        await extended.bind("first")
        extended.node(gpus=1)
        assert await extended.bind("first") == ""
        assert extended.given("first") == "0"
