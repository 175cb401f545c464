"""No API server: no pod is told to be bound, no memory is given twice, and it is free in time."""

from __future__ import annotations

from tests.failures.extending import CARD, HOLD_S, extending, hang, refuse


async def test_it_refuses_connections() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        pod = extended.pod("first", memory=CARD)
        await extended.server.vanish()
        error = await extended.bind("first")
        assert error.startswith("pod team/first was not bound to node-1: POST http://127.0.0.1")
        other = await extended.filter(extended.pod("other", memory=1))
        assert other["NodeNames"] == [], "it is not known that nothing was written"
        assert (await extended.filter(pod))["NodeNames"] == ["node-1"], "the pod's own hold"
        extended.now += HOLD_S
        assert (await extended.filter(extended.pod("other", memory=1)))["NodeNames"] == ["node-1"]


async def test_it_does_not_answer_in_time() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(hang)
        assert "no answer in time" in await extended.bind("first")
        extended.pod("second", memory=1)
        assert "GPU 0 has 0 of 4096 idle" in await extended.bind("second")
        assert await extended.bind("first") == "", "it gets what was kept for it"
        assert extended.given("first") == "0"


async def test_it_fails_by_itself() -> None:
    """An error of etcd's: it may have been written all the same."""
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(refuse(500, "etcdserver: request timed out"))
        assert "etcdserver: request timed out" in await extended.bind("first")
        extended.pod("second", memory=1)
        assert "GPU 0 has 0 of 4096 idle" in await extended.bind("second")


async def test_it_has_not_been_followed_for_a_while() -> None:
    async with extending() as extended:
        extended.node()
        pod = extended.pod("first", memory=1)
        extended.stale = "the API server is not followed at present: pods as of 60 s ago (refused)"
        assert (await extended.filter(pod))["NodeNames"] == ["node-1"]
        assert "not followed at present: pods as of 60 s ago" in await extended.bind("first")
        assert extended.server.asked == []
