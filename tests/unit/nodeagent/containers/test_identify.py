"""Which question is put to whom, in each mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gpupods.identity import ContainerId
from nodeagent.containers.identify import IdentifyMode, ProcessIdentifier
from nodeagent.containers.identity import Unattributed
from nodeagent.containers.runtime import NoRuntime
from nodeagent.gpus.sample import MissingKind
from tests.contract.simulated_containers import ServedNode, SimulatedNode, served_node
from tests.identifying import AMPLE_S, hide_cgroups, owned, owners, reasons


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[ServedNode]:
    async with served_node(tmp_path) as node:
        yield node


def asked(node: ServedNode) -> dict[str, int]:
    return dict(node.daemon.calls)


async def test_auto_asks_for_the_list_alone_where_cgroups_tell(node: ServedNode) -> None:
    _, container = node.run()
    host = node.host_process()
    identifier = ProcessIdentifier(node.table, node.runtime)
    for _ in range(3):
        found = await identifier.identify([*container.pids, host], node.now(), AMPLE_S)
        assert owners(found) == owned(container) | {host: None}
    assert asked(node) == {"Containers.List": 1}


async def test_auto_asks_for_pids_once_where_cgroups_do_not_tell(node: ServedNode) -> None:
    _, container = node.run()
    hide_cgroups(node, container)
    identifier = ProcessIdentifier(node.table, node.runtime)
    for _ in range(3):
        found = await identifier.identify(container.pids, node.now(), AMPLE_S)
        assert owners(found) == owned(container)
        assert found.missing == ()
    assert asked(node)["Tasks.ListPids"] <= len(node.node.containers)


async def test_cgroup_never_asks_for_pids(node: ServedNode) -> None:
    _, told = node.run()
    _, silent = node.run()
    hide_cgroups(node, silent)
    identifier = ProcessIdentifier(node.table, node.runtime, IdentifyMode.CGROUP)
    found = await identifier.identify([*told.pids, *silent.pids], node.now(), AMPLE_S)
    assert owners(found) == owned(told) | dict.fromkeys(silent.pids)
    assert found.containers[told.id].pod == told.pod.name
    assert reasons(found, silent.pids) == {Unattributed.UNDETERMINED}
    assert [(each.kind, each.subject) for each in found.missing] == [
        (MissingKind.PROCESS, str(pid)) for pid in silent.pids
    ]
    assert asked(node) == {"Containers.List": 1}


async def test_runtime_does_not_believe_cgroups(node: ServedNode) -> None:
    _, container = node.run()
    _, other = node.run()
    # Whatever put it there: its cgroup names the one, the runtime lists it in the other.
    process = node.node.containers[container.id].processes[0]
    process.container = node.node.containers[other.id]
    by_runtime = ProcessIdentifier(node.table, node.runtime, IdentifyMode.RUNTIME)
    by_cgroup = ProcessIdentifier(node.table, node.runtime, IdentifyMode.CGROUP)
    for identifier, owner in ((by_runtime, container.id), (by_cgroup, other.id)):
        found = await identifier.identify([process.pid], node.now(), AMPLE_S)
        assert owners(found) == {process.pid: owner}


async def test_without_a_runtime_cgroups_alone_tell() -> None:
    node = SimulatedNode()
    _, container = node.run()
    foreign, host = node.run_foreign(), node.host_process()
    identifier = ProcessIdentifier(node.table, NoRuntime())
    pids = [*container.pids, *foreign.pids, host]
    found = await identifier.identify(pids, node.now(), AMPLE_S)
    assert owners(found) == owned(container) | dict.fromkeys([*foreign.pids, host])
    assert reasons(found, foreign.pids) == {Unattributed.OTHER_RUNTIME}
    assert reasons(found, [host]) == {Unattributed.HOST_PROCESS}
    assert found.missing == ()


def test_runtime_mode_without_a_runtime_is_a_wrong_setting() -> None:
    with pytest.raises(ValueError, match="--runtime-socket"):
        ProcessIdentifier(SimulatedNode().table, NoRuntime(), IdentifyMode.RUNTIME)


async def test_process_of_a_sandbox_is_the_sandboxes() -> None:
    node = SimulatedNode()
    sandbox, _ = node.run()
    hidden = node.run()[0]
    hide_cgroups(node, hidden)
    identifier = ProcessIdentifier(node.table, node.runtime)
    found = await identifier.identify([*sandbox.pids, *hidden.pids], node.now(), AMPLE_S)
    assert owners(found) == owned(sandbox, hidden)
    assert found.containers[sandbox.id].is_sandbox


async def test_pid_asked_for_twice_is_one_process() -> None:
    node = SimulatedNode()
    _, container = node.run()
    identifier = ProcessIdentifier(node.table, node.runtime)
    found = await identifier.identify(container.pids * 2, node.now(), AMPLE_S)
    assert owners(found) == owned(container)


async def test_names_and_start_times_come_with_it() -> None:
    node = SimulatedNode()
    _, container = node.run()
    identifier = ProcessIdentifier(node.table, node.runtime)
    found = await identifier.identify(container.pids, node.now(), AMPLE_S)
    process = node.node.processes[container.pids[0]]
    identified = found.processes[process.pid]
    assert identified.name == "sh"
    assert identified.start_boot_s == pytest.approx(node.node.uptime_s(process.started), abs=0.01)
    assert identified.container == ContainerId(container.id)
    assert (identified.reason, identified.detail) == (None, "")
