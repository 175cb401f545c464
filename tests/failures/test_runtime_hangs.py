"""The runtime takes questions and never answers: nobody waits longer than they said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nodeagent.containers.identify import IdentifyMode, ProcessIdentifier
from nodeagent.containers.identity import Unattributed
from nodeagent.gpus.sample import MissingKind
from simulator.changes import set_runtime_fault
from simulator.kinds import RuntimeFault
from tests.contract.simulated_containers import ServedNode, served_node
from tests.identifying import AMPLE_S, SHORT_S, hide_cgroups, owned, owners, reasons


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[ServedNode]:
    async with served_node(tmp_path) as node:
        set_runtime_fault(node.node, RuntimeFault.HANGS)
        yield node
        set_runtime_fault(node.node, RuntimeFault.NONE)


@pytest.mark.parametrize("mode", [IdentifyMode.AUTO, IdentifyMode.CGROUP])
async def test_cgroups_are_believed_and_the_runtime_is_missing(
    node: ServedNode, mode: IdentifyMode
) -> None:
    _, container = node.run()
    identifier = ProcessIdentifier(node.table, node.runtime, mode)
    async with asyncio.timeout(AMPLE_S):
        identification = await identifier.identify(container.pids, node.now(), SHORT_S)
    assert owners(identification) == owned(container)
    (missing,) = identification.missing
    assert missing.kind is MissingKind.RUNTIME
    assert "no answer in" in missing.reason


@pytest.mark.parametrize("mode", [IdentifyMode.AUTO, IdentifyMode.RUNTIME])
async def test_processes_whose_cgroup_tells_nothing_are_undetermined(
    node: ServedNode, mode: IdentifyMode
) -> None:
    _, container = node.run()
    hide_cgroups(node, container)
    identifier = ProcessIdentifier(node.table, node.runtime, mode)
    async with asyncio.timeout(AMPLE_S):
        identification = await identifier.identify(container.pids, node.now(), SHORT_S)
    assert reasons(identification) == {Unattributed.UNDETERMINED}
    assert {missing.kind for missing in identification.missing} == {MissingKind.RUNTIME}


async def test_many_who_ask_at_once_do_not_wait_for_each_other(node: ServedNode) -> None:
    """Ten that waited in turn would reach the limit: each question ends after SHORT_S at most."""
    containers = [node.run()[1] for _ in range(10)]
    identifier = ProcessIdentifier(node.table, node.runtime)
    async with asyncio.timeout(4 * SHORT_S):
        answers = await asyncio.gather(
            *(identifier.identify(each.pids, node.now(), SHORT_S) for each in containers)
        )
    for container, answer in zip(containers, answers, strict=True):
        assert owners(answer) == owned(container)
        assert [missing.kind for missing in answer.missing] == [MissingKind.RUNTIME]


async def test_it_is_asked_again_once_it_answers(node: ServedNode) -> None:
    _, container = node.run()
    identifier = ProcessIdentifier(node.table, node.runtime)
    await identifier.identify(container.pids, node.now(), 0.05)
    set_runtime_fault(node.node, RuntimeFault.NONE)
    identification = await identifier.identify(container.pids, node.now(), AMPLE_S)
    assert identification.containers[container.id].pod == container.pod.name
    assert identification.missing == ()
