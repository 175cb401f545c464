"""The API server goes away before, or after, an operator's word was written."""

from __future__ import annotations

import asyncio

import pytest

from gpupods.cli.exit_codes import ExitCode
from gpupods.cli.failure import CommandFailed, NoAnswer
from gpupods.cli.gpu.saying import say
from tests.failures.operating import saying, words_on
from tests.simulator.running import patiently, running


async def test_before_it_is_said_at_once_and_nothing_is_written() -> None:
    async with running() as run:
        node = run.node("gpu-a100-1")
        await run.cluster.apiserver.go_away()
        with pytest.raises(NoAnswer, match="the Kubernetes API server did not answer"):
            await say(saying(run, node, 2, wait_s=20.0))
        assert words_on(node) == {}


async def test_afterwards_it_is_waited_for() -> None:
    async with running() as run:
        node = run.node("gpu-a100-1")
        await run.cluster.agents.stop_one(node.name)
        word = asyncio.create_task(say(saying(run, node, 2, wait_s=20.0)))
        async for _ in patiently():
            if words_on(node):
                break
        await run.cluster.apiserver.go_away()
        await run.cluster.apiserver.come_back()
        await run.cluster.agents.start_one(node.name)
        assert await word is ExitCode.OK


async def test_who_may_not_patch_nodes_is_told_which_right_it_takes() -> None:
    async with running() as run:
        node = run.node("gpu-a100-1")
        run.cluster.apiserver.faults.denied.add(("patch", "nodes"))
        with pytest.raises(CommandFailed, match="refuses") as caught:
            await say(saying(run, node, 2))
        assert "kubectl auth can-i patch nodes" in caught.value.hint
        assert caught.value.exit_code == ExitCode.REFUSED


async def test_what_is_refused_afterwards_is_not_told_as_if_nothing_was_written() -> None:
    """The exit code 1 says that nothing was written: a script would say its word again."""
    async with running() as run:
        node = run.node("gpu-a100-1")
        await run.cluster.agents.stop_one(node.name)
        word = asyncio.create_task(say(saying(run, node, 2, wait_s=20.0)))
        async for _ in patiently():
            if words_on(node):
                break
        run.cluster.apiserver.faults.denied.add(("get", "nodes"))
        with pytest.raises(NoAnswer, match="the word is written, and what has become of it"):
            await word
