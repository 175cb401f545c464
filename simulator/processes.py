"""The process table of a simulated node: the twin of `nodeagent.processes.proc`."""

from __future__ import annotations

from gpupods.identity import Pid
from nodeagent.processes.table import ProcessFacts, ProcessTable
from simulator.cgroups import cgroup_of_init, cgroup_text
from simulator.model import SimNode

INIT = Pid(1)


class SimulatedProcessTable(ProcessTable):
    """Shows the processes of ``node`` as /proc would.

    ``unreadable`` holds pids whose cgroup cannot be read.
    """

    def __init__(self, node: SimNode, *, host_pids: bool = True) -> None:
        self._node = node
        self._host_pids = host_pids
        self.unreadable: set[Pid] = set()

    def read(self, pid: Pid) -> ProcessFacts | None:
        """Everything about ``pid``; None if there is no such process (any more)."""
        if not self._node.host_pids:
            return None
        if pid == INIT:
            return ProcessFacts(pid, "systemd", 0.0, cgroup_of_init(self._node))
        process = self._node.processes.get(pid)
        if process is None or process.exited:
            return None
        return ProcessFacts(
            pid=pid,
            name=process.name[:15],  # the kernel's TASK_COMM_LEN
            start_boot_s=round(self._node.uptime_s(process.started), 2),
            cgroup=None if pid in self.unreadable else cgroup_text(self._node, process),
        )

    def sees_host_pids(self) -> bool:
        """Whether pids are the node's own."""
        return self._host_pids and self._node.host_pids
