"""What /proc says of a process that a test puts on a GPU, read before anything happens to it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.e2e.truth import Living
from tests.realparts import proctree
from tests.realparts.containerd import Container
from tests.realparts.processes import wait_until

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def living_in(container: Container, number: int = 0) -> Living:
    """A process of a container, as it is now."""
    return living(container.pids[number], container, container.cgroup)


def wait_for_names(container: Container) -> None:
    """A process without children is a shell only until it has become a sleep."""

    def settled() -> bool:
        leaves = [pid for pid in container.pids if len(proctree.descendants(pid)) == 1]
        return all(_name(pid) == "sleep" for pid in leaves)

    wait_until(settled, what=f"the processes of container {container.id} to be what they will be")


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")


def living(pid: int, container: Container | None, cgroup: str) -> Living:
    """A process that is alive; `container` None: one of the host."""
    ticks = proctree.start_time(pid)
    assert ticks is not None, f"process {pid} has ended"
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return Living(pid, _name(pid), boot + ticks / _TICKS_PER_S, cgroup, container)
