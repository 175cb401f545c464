"""A Tab after `gpupods gpu list` or `exclude` offers the nodes of the kubeconfig's cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from gpupods.cli.program import program
from tests.simulator.running import running


def offered(*words: str, incomplete: str = "") -> list[str]:
    complete = ShellComplete(program, {}, "gpupods", "_GPUPODS_COMPLETE")
    return [item.value for item in complete.get_completions(["gpu", *words], incomplete)]


async def test_names_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as run:
        monkeypatch.setenv("KUBECONFIG", str(run.cluster.kubeconfig))
        names = sorted(node.name for node in run.truth.nodes.values())
        assert sorted(await asyncio.to_thread(offered, "list")) == names
        assert await asyncio.to_thread(offered, "exclude", incomplete="gpu-a") == ["gpu-a100-1"]
        rest = await asyncio.to_thread(offered, "list", names[0])
        assert sorted(rest) == names[1:], "a node is not named twice"


async def test_where_no_cluster_answers_nothing_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    assert await asyncio.to_thread(offered, "restore") == []


def test_its_subcommands() -> None:
    assert offered() == ["list", "exclude", "restore"]
    assert offered(incomplete="ex") == ["exclude"]
