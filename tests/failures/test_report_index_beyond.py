"""An index of no GPU: in an old report it goes, in an operator's word it is told."""

import json

from tests.reportbed import bed, reporting

WORD = {"kind": "exclude", "who": "anna", "why": "a slip", "given": "2026-11-30T12:00:00Z"}


async def test_a_report_of_a_gpu_that_there_is_none_of_is_corrected() -> None:
    async with bed(ids="1,99") as there, reporting(there) as agent:
        agent.read()
        agent.xid(79, 1)
        await there.until_ids("1")


async def test_a_word_on_one_changes_nothing_and_is_told() -> None:
    words = json.dumps({"9": WORD, "5000": WORD, "1": WORD})
    async with bed(overrides=words) as there, reporting(there) as agent:
        agent.read()
        await there.until_ids("1")
        (problem,) = agent.monitor.problems
        assert "anna's word on GPU 9 counts for nothing: this node's GPUs are 0, 1" in problem
        assert "'5000' is no index" in problem
        there.annotate(overrides=json.dumps({"1": WORD}))
        await there.until(lambda: not agent.monitor.problems)
