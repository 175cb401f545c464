"""Another process has the pid by now: it is not given the GPU memory of the one before."""

from __future__ import annotations

import pytest

from nodeagent.containers.identify import IdentifyMode, ProcessIdentifier
from nodeagent.containers.identity import Unattributed
from nodeagent.gpus.sample import Moment
from simulator.changes import reuse_pid
from tests.contract.simulated_containers import SimulatedNode
from tests.identifying import AMPLE_S, owned, owners


def later(moment: Moment, seconds: float) -> Moment:
    return Moment(moment.wall + seconds, moment.boot + seconds)


@pytest.mark.parametrize("mode", list(IdentifyMode))
async def test_process_started_after_the_sample_is_another(mode: IdentifyMode) -> None:
    node = SimulatedNode()
    _, container = node.run()
    first, *others = container.pids
    sampled = later(node.now(), -5.0)
    reuse_pid(node.cluster, node.node, first, "sshd", "/system.slice/ssh.service")
    identifier = ProcessIdentifier(node.table, node.runtime, mode)
    identification = await identifier.identify(container.pids, sampled, AMPLE_S)
    reused = identification.processes[first]
    assert (reused.reason, reused.container) == (Unattributed.PID_REUSED, None)
    assert "sshd" in reused.detail
    assert owners(identification) == owned(container) | {first: None}
    assert [identification.processes[pid].reason for pid in others] == [None] * len(others)
    assert identification.missing == ()


async def test_process_started_before_the_sample_is_meant_itself() -> None:
    node = SimulatedNode()
    _, container = node.run()
    pid = container.pids[0]
    reuse_pid(node.cluster, node.node, pid, "sshd", "/system.slice/ssh.service")
    identifier = ProcessIdentifier(node.table, node.runtime)
    identification = await identifier.identify([pid], later(node.now(), 5.0), AMPLE_S)
    assert identification.processes[pid].reason is Unattributed.HOST_PROCESS
    assert identification.processes[pid].name == "sshd"


async def test_what_was_found_of_the_one_before_is_not_said_of_it() -> None:
    node = SimulatedNode()
    _, container = node.run()
    pid = container.pids[0]
    identifier = ProcessIdentifier(node.table, node.runtime, IdentifyMode.RUNTIME)
    first = await identifier.identify([pid], node.now(), AMPLE_S)
    assert first.processes[pid].container == container.id
    reuse_pid(node.cluster, node.node, pid, "sshd", "/system.slice/ssh.service")
    second = await identifier.identify([pid], later(node.now(), 5.0), AMPLE_S)
    assert second.processes[pid].reason is Unattributed.HOST_PROCESS
