"""The annotation with operators' words is garbled: who was excluded stays so, and that is told."""

import json

import pytest

from tests.reportbed import bed, reporting

WORD = {"kind": "exclude", "who": "anna", "why": "odd", "given": "2026-11-30T12:00:00Z"}


@pytest.mark.parametrize(
    "garbled",
    ["not json", "[]", '{"1": 7}', '{"1": {"kind": "exclude"}}', '{"0": {}, "1": null}'],
)
async def test_an_exclusion_is_not_taken_back_by_it(garbled: str) -> None:
    async with bed(overrides=json.dumps({"1": WORD})) as there, reporting(there) as agent:
        agent.read()
        await there.until_ids("1")
        there.annotate(overrides=garbled)
        await there.until(lambda: agent.monitor.problems)
        agent.read()
        await there.settled()
        assert there.ids == "1"
        assert "GPU 1 stays excluded by anna (odd) meanwhile" in agent.monitor.problems[0]
        there.annotate(overrides=None)
        await there.until_ids(None)
        assert agent.monitor.problems == ()


async def test_a_word_on_another_gpu_that_is_garbled_holds_up_nothing() -> None:
    async with bed(overrides=json.dumps({"1": WORD})) as there, reporting(there) as agent:
        agent.read()
        await there.until_ids("1")
        there.annotate(overrides=json.dumps({"0": 7, "what": WORD}))
        await there.until_ids(None)
