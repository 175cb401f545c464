"""The driver lists a process that the kernel no longer has."""

from __future__ import annotations

import pytest

from gpupods.identity import Pid
from nodeagent.containers.identify import IdentifyMode, ProcessIdentifier
from nodeagent.containers.identity import Unattributed
from nodeagent.gpus.sample import MissingKind
from simulator.changes import kill_process
from simulator.processes import SimulatedProcessTable
from tests.contract.simulated_containers import SimulatedNode
from tests.identifying import AMPLE_S, owned, owners, reasons


@pytest.mark.parametrize("mode", list(IdentifyMode))
async def test_it_is_told_apart_and_hides_no_other(mode: IdentifyMode) -> None:
    node = SimulatedNode()
    _, container = node.run()
    kill_process(node.node, container.pids[0], driver_forgets=False)
    identifier = ProcessIdentifier(node.table, node.runtime, mode)
    identification = await identifier.identify(container.pids, node.now(), AMPLE_S)
    assert identification.processes[container.pids[0]].reason is Unattributed.PROCESS_EXITED
    assert owners(identification) == owned(container) | {container.pids[0]: None}
    assert identification.missing == ()


async def test_all_of_them_have_exited_where_node_pids_are_seen() -> None:
    node = SimulatedNode()
    identifier = ProcessIdentifier(node.table, node.runtime)
    identification = await identifier.identify([Pid(900_001), Pid(900_002)], node.now(), AMPLE_S)
    assert reasons(identification) == {Unattributed.PROCESS_EXITED}
    assert identification.missing == ()


async def test_none_of_them_is_to_be_seen_where_node_pids_are_not() -> None:
    node = SimulatedNode()
    table = SimulatedProcessTable(node.node, host_pids=False)
    identifier = ProcessIdentifier(table, node.runtime)
    identification = await identifier.identify([Pid(900_001), Pid(900_002)], node.now(), AMPLE_S)
    assert reasons(identification) == {Unattributed.UNDETERMINED}
    (missing,) = identification.missing
    assert missing.kind is MissingKind.PROCESS
    assert "hostPID: true" in missing.reason


async def test_no_pids_are_no_trouble() -> None:
    node = SimulatedNode()
    table = SimulatedProcessTable(node.node, host_pids=False)
    identification = await ProcessIdentifier(table, node.runtime).identify([], node.now(), AMPLE_S)
    assert (identification.processes, identification.missing) == ({}, ())
