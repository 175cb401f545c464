"""Somebody takes away or changes what is ours on the Node: it is put right."""

from dataclasses import replace

import pytest

from nodeagent.health.observations import Reading
from tests.reportbed import QUICK, WELL, bed, reporting


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
    patient = replace(QUICK, first_pause_s=3600.0, longest_contest_s=3600.0)
    async with bed() as there, reporting(there, pace=patient) as agent:
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")
        there.annotate(ids="7")
        await there.until_ids("1")
        there.annotate(ids="7")
        await there.settled()
        assert there.ids == "7", "the second time is not before half an hour"
        assert agent.reporter.status.put_right == 1
        agent.xid(79, 0)
        await there.until_ids("0,1")


async def test_what_had_to_wait_is_put_right_all_the_same() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")
        for _ in range(5):
            there.annotate(ids="7")
            await there.until_ids("1")
        assert agent.reporter.status.put_right == 5


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
