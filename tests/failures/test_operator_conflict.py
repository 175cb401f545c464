"""Several operators write to one Node at the same moment: each of their words is kept."""

from __future__ import annotations

import asyncio

from gpupods.cli.exit_codes import ExitCode
from gpupods.cli.gpu.saying import say
from tests.failures.operating import saying, words_on
from tests.simulator.running import running


async def test_every_word_is_there_in_the_end() -> None:
    async with running() as run:
        node = run.node("gpu-a100-1")
        indexes = range(len(node.gpus))
        codes = await asyncio.gather(*(say(saying(run, node, index)) for index in indexes))
        assert set(codes) == {ExitCode.OK}
        assert {index: word.who for index, word in words_on(node).items()} == {
            index: f"operator-{index}" for index in indexes
        }
        patches = [each for each in run.cluster.apiserver.requests if each.startswith("PATCH")]
        of_words = [each for each in patches if each.endswith(f"/nodes/{node.name}")]
        assert len(of_words) > len(indexes), "some of them were refused, and tried again"
