"""What was given to a pod that is never bound is free again: in time, or when the pod is gone."""

from __future__ import annotations

from structlog.testing import capture_logs

from tests.failures.extending import CARD, HOLD_S, extending, hang


async def test_in_time() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(hang)
        await extended.bind("first")
        other = extended.pod("other", memory=1)
        extended.now += HOLD_S - 0.001
        assert (await extended.filter(other))["NodeNames"] == []
        extended.now += 0.001
        with capture_logs() as logs:
            assert (await extended.filter(other))["NodeNames"] == ["node-1"]
        (told,) = logs
        assert (told["pod"], told["node"], told["gpus"]) == ("team/first", "node-1", "0")


async def test_at_once_when_the_pod_is_gone() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        extended.server.next_answers.append(hang)
        await extended.bind("first")
        extended.delete("first")
        other = extended.pod("other", memory=1)
        assert (await extended.filter(other))["NodeNames"] == ["node-1"]


async def test_what_is_bound_stays_given_for_as_long_as_the_pod_is_there() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        assert await extended.bind("first") == ""
        extended.show("first")
        extended.now += 100 * HOLD_S
        other = extended.pod("other", memory=1)
        assert (await extended.filter(other))["NodeNames"] == []
        extended.delete("first")
        assert (await extended.filter(other))["NodeNames"] == ["node-1"]
