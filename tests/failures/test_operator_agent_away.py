"""The agent of the node is away: the word stands, is said not to be heeded yet, and is later."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gpupods.cli.exit_codes import ExitCode
from gpupods.cli.failure import NoAnswer
from gpupods.cli.gpu.saying import say
from gpupods.node_annotations import UNHEALTHY_IDS
from tests.failures.operating import saying, words_on
from tests.simulator.running import patiently, running


async def test_a_word_that_ends_meanwhile_is_not_waited_for() -> None:
    async with running() as run:
        node = run.node("gpu-a100-1")
        await run.cluster.agents.stop_one(node.name)
        ends = datetime.now(UTC) + timedelta(seconds=0.3)
        word = replace(saying(run, node, 2, wait_s=600.0), ends=ends)
        with pytest.raises(NoAnswer, match="the word has ended, and was not seen to be taken"):
            await say(word)


async def test_an_exclusion_is_heeded_when_the_agent_is_back() -> None:
    async with running() as run:
        node = run.node("gpu-a100-1")
        await run.cluster.agents.stop_one(node.name)
        with pytest.raises(NoAnswer, match="has not taken it within") as caught:
            await say(saying(run, node, 2, wait_s=0.3))
        assert "it is not reported as unfit" in caught.value.message
        assert "gpupods doctor" in caught.value.hint
        assert caught.value.exit_code == ExitCode.NO_ANSWER
        assert words_on(node)[2].who == "operator-2"
        await run.cluster.agents.start_one(node.name)
        async for _ in patiently():
            if node.annotations.get(UNHEALTHY_IDS) == "2":
                break
        assert node.annotations[UNHEALTHY_IDS] == "2"
