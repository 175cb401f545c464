"""Somebody takes away or changes what is ours on the Node: it is put right."""

import pytest

from nodeagent.health.observations import Reading
from tests.reportbed import WELL, bed, reporting


@pytest.mark.parametrize("field", ["ids", "health"])
async def test_an_annotation_that_is_taken_away_comes_back(field: str) -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")
        before = there.annotations
        there.annotate(**{field: None})
        await there.until(lambda: there.annotations == before)
        assert agent.reporter.status.put_right == 1
        assert len(there.events) == 1, "no GPU has changed"


async def test_a_gpu_that_somebody_adds_is_taken_out_again() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        await agent.follows()
        await there.settled()
        there.annotate(ids="0")
        await there.until_ids(None)
        assert agent.reporter.status.put_right == 1


async def test_a_condition_that_is_changed_is_put_right() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")
        node = there.node
        ready = [each for each in node["status"]["conditions"] if each["type"] == "Ready"]
        there.server.store.put("nodes", node | {"status": {"conditions": ready}})
        await there.until(lambda: there.condition is not None)
        assert there.condition["status"] == "True"  # type: ignore[index]  # it is there by now


async def test_two_that_take_turns_are_slow_and_real_news_is_not() -> None:
    """Another tool writes its own value again and again."""
    async with bed() as there, reporting(there) as agent:
        agent.read(WELL, WELL, WELL)
        agent.xid(79, 1)
        await there.until_ids("1")
        for _ in range(5):
            there.annotate(ids="7")
            await there.until_ids("1")
        assert agent.reporter._contest._step_s == 0.05, "ever slower, up to the limit"
        there.annotate(ids="7")
        agent.xid(79, 0)
        await there.until_ids("0,1")


async def test_a_reading_that_changes_nothing_is_no_reason_to_write() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")
        before = there.patches
        for _ in range(20):
            there.clock.advance(5)
            agent.read(WELL, Reading(WELL.presence, 4))
            there.heartbeat()
        await there.settled()
        assert there.patches - before <= 1, "a recovery action is news once"
