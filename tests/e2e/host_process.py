"""A process of the host: in no container, in a cgroup as a login session has one.

The cgroup is its own, so that it is no container's even where the tests run in one.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
from pathlib import Path
from typing import Self

from tests.realparts import cgroups
from tests.realparts.processes import wait_until

_LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
_NUMBERS = itertools.count(1)


class HostProcess:
    """A sleep, from `start` to `end`; one that gets `wanted_pid`, where a free one is given."""

    def __init__(self, wanted_pid: int | None = None) -> None:
        self._wanted_pid = wanted_pid
        self.cgroup = f"/gpupods-e2e.slice/session-{os.getpid()}-{next(_NUMBERS)}.scope"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        assert self._process is not None, "start it first"
        return self._process.pid

    def start(self) -> None:
        wait_until(self._has_started, what=f"a process to get the pid {self._wanted_pid}")
        for root in cgroups.hierarchies():
            _move(root, self.cgroup, self.pid)

    def _has_started(self) -> bool:
        """Start one; false if somebody else was given the wanted pid meanwhile."""
        if self._wanted_pid is not None:
            _LAST_PID.write_text(str(self._wanted_pid - 1))
        started = subprocess.Popen(["sleep", "2000000000"], start_new_session=True)
        if self._wanted_pid not in (None, started.pid):
            started.kill()
            started.wait()
            return False
        self._process = started
        return True

    def end(self) -> None:
        """End it and remove its cgroup. Ending twice does nothing."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._process = None
        cgroups.remove([self.cgroup], shared=True)


def _move(root: Path, cgroup: str, pid: int) -> None:
    folder = root / cgroup.lstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    for made in (folder.parent, folder):
        _fill_cpuset(made)
    (folder / "cgroup.procs").write_text(str(pid))


def _fill_cpuset(folder: Path) -> None:
    """In a v1 tree a new cgroup has neither CPUs nor memory, and takes no process."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        own, upper = folder / name, folder.parent / name
        if own.exists() and upper.exists() and not own.read_text().strip():
            with contextlib.suppress(OSError):  # v2: set where it is to differ only
                own.write_text(upper.read_text())
