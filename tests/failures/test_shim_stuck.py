"""A container's shim answers nothing: that costs what only it could tell, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from nodeagent.containers.identify import IdentifyMode, ProcessIdentifier
from nodeagent.containers.identity import Unattributed
from nodeagent.gpus.sample import MissingKind
from tests.contract.real_containers import real_node
from tests.contract.simulated_containers import ServedNode, served_node
from tests.identifying import AMPLE_S, SHORT_S, hide_cgroups, owned, owners, reasons
from tests.realparts.containerd import Containerd


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[ServedNode]:
    async with served_node(tmp_path) as node:
        yield node


async def test_cgroups_tell_all_the_same(node: ServedNode) -> None:
    _, stuck = node.run()
    identifier = ProcessIdentifier(node.table, node.runtime)
    with node.stuck(stuck):
        identification = await identifier.identify(stuck.pids, node.now(), AMPLE_S)
    assert owners(identification) == owned(stuck)
    assert identification.missing == ()


@pytest.mark.parametrize("mode", [IdentifyMode.AUTO, IdentifyMode.RUNTIME])
async def test_other_containers_are_right_and_the_stuck_one_is_named(
    node: ServedNode, mode: IdentifyMode
) -> None:
    sandbox, stuck = node.run()
    _, well = node.run()
    hide_cgroups(node, stuck, well)
    identifier = ProcessIdentifier(node.table, node.runtime, mode)
    with node.stuck(stuck):
        identification = await identifier.identify((*stuck.pids, *well.pids), node.now(), SHORT_S)
    assert owners(identification) == owned(well) | dict.fromkeys(stuck.pids)
    assert reasons(identification, stuck.pids) == {Unattributed.UNDETERMINED}
    assert {missing.subject for missing in identification.missing} == {stuck.id, sandbox.id}
    for missing in identification.missing:
        assert missing.kind is MissingKind.CONTAINER
        assert "no answer in" in missing.reason


async def test_nobody_waits_for_it_if_all_processes_are_elsewhere(node: ServedNode) -> None:
    _, stuck = node.run()
    _, well = node.run()
    hide_cgroups(node, well)
    identifier = ProcessIdentifier(node.table, node.runtime)
    with node.stuck(stuck):
        async with asyncio.timeout(AMPLE_S):
            identification = await identifier.identify(well.pids, node.now(), 100 * AMPLE_S)
    assert owners(identification) == owned(well)
    assert identification.missing == ()


async def test_more_of_them_than_are_asked_at_once(node: ServedNode) -> None:
    stuck = [node.run()[1] for _ in range(20)]
    _, well = node.run()
    hide_cgroups(node, *stuck, well)
    identifier = ProcessIdentifier(node.table, node.runtime)
    with ExitStack() as all_stuck:
        for each in stuck:
            all_stuck.enter_context(node.stuck(each))
        identification = await identifier.identify(
            [well.pids[0], stuck[0].pids[0]], node.now(), 2.0
        )
    assert identification.processes[well.pids[0]].container == well.id
    assert identification.processes[stuck[0].pids[0]].reason is Unattributed.UNDETERMINED
    named = {missing.subject for missing in identification.missing}
    assert {each.id for each in stuck} <= named


async def test_those_who_ask_again_at_once_do_not_wait_again(node: ServedNode) -> None:
    _, stuck = node.run()
    hide_cgroups(node, stuck)
    identifier = ProcessIdentifier(node.table, node.runtime)
    with node.stuck(stuck):
        asked = [identifier.identify(stuck.pids, node.now(), SHORT_S) for _ in range(10)]
        answers = await asyncio.gather(*asked)
        calls = node.daemon.calls["Tasks.ListPids"]
    assert calls == len(node.node.containers)
    for each in answers:
        assert reasons(each) == {Unattributed.UNDETERMINED}
        assert stuck.id in {missing.subject for missing in each.missing}


async def test_its_processes_are_found_once_it_answers_again(node: ServedNode) -> None:
    _, stuck = node.run()
    hide_cgroups(node, stuck)
    identifier = ProcessIdentifier(node.table, node.runtime)
    with node.stuck(stuck):
        await identifier.identify(stuck.pids, node.now(), SHORT_S)
    async with asyncio.timeout(AMPLE_S):
        while True:
            identification = await identifier.identify(stuck.pids, node.now(), AMPLE_S)
            if not identification.missing:
                break
            await asyncio.sleep(0.02)
    assert owners(identification) == owned(stuck)


@pytest.mark.e2e
async def test_a_real_one(containerd: Containerd) -> None:
    async with real_node(containerd) as real:
        sandbox, stuck = real.run()
        _, well = real.run()
        identifier = ProcessIdentifier(real.table, real.runtime, IdentifyMode.RUNTIME)
        pids = (*stuck.pids, *well.pids)
        with real.stuck(stuck):
            identification = await identifier.identify(pids, real.now(), AMPLE_S / 4)
    assert owners(identification) == owned(well) | dict.fromkeys(stuck.pids)
    assert {missing.subject for missing in identification.missing} == {stuck.id, sandbox.id}
