"""The process table behind `nodeagent.processes.table`: /proc.

Reads in the caller's thread: 15 to 40 microseconds a process, and nothing here waits for the
process itself. What a cgroup path means is the business of `nodeagent.containers.cgroup`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpupods.identity import Pid
from nodeagent.processes.table import ProcessFacts

CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO in the kernel's include/linux/proc_ns.h: the same number since Linux 3.8."""

ENOUGH_BYTES = 4096
"""Holds any stat, and nearly every cgroup, in one read."""

READ = os.O_RDONLY | os.O_CLOEXEC

READS = 2
"""A process that is replaced by another of the same pid while it is read is read once more."""

KEPT_OPEN = 128
"""Processes whose files stay open, two each: more than a node's GPUs have at most times."""

_START_AFTER_NAME = 19
"""Field 22 of stat (man 5 proc), counted from field 3, the first behind the name."""


@dataclass(frozen=True, slots=True)
class Stat:
    """What is needed of /proc/<pid>/stat."""

    name: str
    start_ticks: int


class ProcTable:
    """The processes below ``root``, a procfs or a tree that looks like one. Use it in one thread.

    The files of those asked for last stay open, which saves half of the time: the same processes
    are asked for again and again.
    """

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._root = root
        self._kept: dict[Pid, _OpenProcess] = {}

    def read(self, pid: Pid) -> ProcessFacts | None:
        """Everything about ``pid``; None if there is no such process (any more)."""
        kept = self._kept.pop(pid, None)
        if kept is not None and (facts := kept.read_again()) is not None:
            self._kept[pid] = kept  # behind those that were not asked for since
            return facts
        folder = f"{self._root}/{pid}"
        for _ in range(READS):
            try:
                opened = _OpenProcess(pid, folder, os.open(folder + "/stat", READ))
                facts = opened.read_first()
            except OSError:
                continue  # ended, before or while it was read; the pid may be another's by now
            if facts is not None:
                self._keep(opened)
                return facts
        return None

    def _keep(self, process: _OpenProcess) -> None:
        if not process.has_cgroup:
            return  # perhaps it may be opened the next time
        self._kept[process.pid] = process
        if len(self._kept) > KEPT_OPEN:
            del self._kept[next(iter(self._kept))]

    def sees_host_pids(self) -> bool:
        """Whether this is the initial pid namespace; False too if that cannot be read."""
        try:
            return os.readlink(self._root / "self" / "ns" / "pid") == INITIAL_PID_NAMESPACE  # noqa: PTH115
        except OSError:
            return False


class _OpenProcess:
    """The open files of one process; they are closed when nothing refers to it any more.

    An open stat stays that of the process it was opened for, and fails once that has ended: so
    whatever was opened of the same pid before a stat could be read is of the same process.
    """

    def __init__(self, pid: Pid, folder: str, stat: int) -> None:
        self.pid = pid
        self._folder = folder
        self._start_ticks = -1
        self._stat = stat
        self._cgroup: int | None = None

    def __del__(self) -> None:
        for file in (self._stat, self._cgroup):
            if file is not None:
                os.close(file)

    @property
    def has_cgroup(self) -> bool:
        """Whether its cgroup file could be opened."""
        return self._cgroup is not None

    def read_first(self) -> ProcessFacts | None:
        """Its facts; None if they may be of two processes, or stat is not a stat.

        Raises:
            OSError: it has ended.
        """
        before = parse_stat(os.pread(self._stat, ENOUGH_BYTES, 0))
        if before is None:
            return None
        self._start_ticks = before.start_ticks
        with contextlib.suppress(OSError):  # not to be read, or it has just ended: stat will tell
            self._cgroup = os.open(self._folder + "/cgroup", READ)
        return self._read(_read_whole)

    def read_again(self) -> ProcessFacts | None:
        """Its facts as they are now; None if it has ended."""
        try:
            return self._read(_read_from_start)
        except OSError:
            return None

    def _read(self, read: Callable[[int], bytes]) -> ProcessFacts | None:
        """Its cgroup, then its stat, which tells whether it was there all the time."""
        cgroup = None
        if self._cgroup is not None:
            try:
                cgroup = read(self._cgroup).decode(errors="replace")
            except OSError:  # as above
                cgroup = None
        stat = parse_stat(os.pread(self._stat, ENOUGH_BYTES, 0))
        if stat is None or stat.start_ticks != self._start_ticks:
            return None
        return ProcessFacts(self.pid, stat.name, stat.start_ticks / CLOCK_TICKS_PER_S, cgroup)


def _read_from_start(file: int) -> bytes:
    """All of a file of procfs that was read before: it is made anew for each who starts over."""
    content = os.pread(file, ENOUGH_BYTES, 0)
    if len(content) < ENOUGH_BYTES:
        return content
    os.lseek(file, 0, os.SEEK_SET)
    return _read_whole(file)


def _read_whole(file: int) -> bytes:
    """Read to the end. procfs gives less than was asked for only where a read has to go on."""
    content = os.read(file, ENOUGH_BYTES)
    if not content:
        return content
    while more := os.read(file, ENOUGH_BYTES):
        content += more
    return content


def parse_stat(content: bytes) -> Stat | None:
    """Read the text of /proc/<pid>/stat; None if it is not one.

    The name stands in parentheses, as the process gave it: it may itself hold parentheses,
    spaces and line breaks, so it ends at the last parenthesis.
    """
    opening, closing = content.find(b"("), content.rfind(b")")
    fields = content[closing + 1 :].split(None, _START_AFTER_NAME + 1)
    if not 0 <= opening < closing or len(fields) <= _START_AFTER_NAME:
        return None
    start = fields[_START_AFTER_NAME]
    if not start.isdigit():
        return None
    return Stat(content[opening + 1 : closing].decode(errors="replace"), int(start))
