"""The Node is deleted and made again, or is not there yet: the new one carries the report too."""

import json
from dataclasses import replace

from tests.reportbed import NODE, QUICK, bed, reporting

WORD = {"kind": "exclude", "who": "anna", "why": "odd", "given": "2026-11-30T12:00:00Z"}


async def test_the_new_node_carries_it_at_once() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")
        there.server.store.remove("nodes", NODE)
        await there.until(lambda: not agent.reporter.status.follows)
        agent.xid(79, 0)
        await there.settled()
        there.make_node()
        await there.until_ids("0,1")
        assert there.condition is not None


async def test_it_does_not_wait_for_the_end_of_a_quarrel_about_the_old_one() -> None:
    patient = replace(QUICK, first_pause_s=3600.0, longest_contest_s=3600.0)
    async with bed() as there, reporting(there, pace=patient) as agent:
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")
        there.annotate(ids="7")
        await there.until_ids("1")
        there.server.store.remove("nodes", NODE)
        await there.until(lambda: not agent.reporter.status.follows)
        there.make_node()
        await there.until_ids("1")
        assert agent.reporter.status.put_right == 1, "nobody has changed anything"


async def test_an_agent_that_is_there_before_its_node() -> None:
    async with bed() as there:
        there.server.store.remove("nodes", NODE)
        async with reporting(there) as agent:
            agent.read()
            agent.xid(79, 1)
            await there.settled()
            assert agent.reporter.status.problem == ""
            assert agent.reporter.status.pending
            there.make_node()
            await there.until_ids("1")
            assert not agent.reporter.status.pending


async def test_an_operators_word_that_went_with_the_node_still_holds() -> None:
    async with bed(overrides=json.dumps({"1": WORD})) as there, reporting(there) as agent:
        agent.read()
        await there.until_ids("1")
        there.server.store.remove("nodes", NODE)
        await there.until(lambda: not agent.reporter.status.follows)
        there.make_node()
        await there.until_ids("1")
        (problem,) = agent.monitor.problems
        assert "GPU 1 stays excluded by anna (odd)" in problem
        there.annotate(overrides=json.dumps({"1": WORD}))
        await there.until(lambda: agent.monitor.problems == ())
        there.annotate(overrides=None)
        await there.until_ids(None)
