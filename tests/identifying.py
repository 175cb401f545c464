"""Simulated nodes on which identifying processes goes wrong, for the tests of it."""

from __future__ import annotations

from collections.abc import Iterable

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.identity import Identification, Unattributed
from simulator.processes import SimulatedProcessTable
from tests.contract.container_nodes import Made
from tests.contract.simulated_containers import SimulatedNode

AMPLE_S = 30.0
"""A limit that no test means to reach."""
SHORT_S = 2.0
"""A limit in tests that reach it."""


def hide_cgroups(node: SimulatedNode, *containers: Made) -> None:
    """Let the cgroups of all their processes be unreadable, so that the runtime is asked."""
    assert isinstance(node.table, SimulatedProcessTable)
    node.table.unreadable.update(pid for each in containers for pid in each.pids)


def owners(identification: Identification) -> dict[Pid, ContainerId | None]:
    return {pid: each.container for pid, each in identification.processes.items()}


def owned(*containers: Made) -> dict[Pid, ContainerId | None]:
    """What `owners` are when all is well."""
    return {pid: each.id for each in containers for pid in each.pids}


def reasons(identification: Identification, pids: Iterable[Pid] = ()) -> set[Unattributed | None]:
    """Why the processes (all, or ``pids``) have no container."""
    return {identification.processes[pid].reason for pid in pids or identification.processes}
