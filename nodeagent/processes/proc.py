"""The process table behind `nodeagent.processes.table`: /proc.

Reads in the caller's thread: 30 to 60 microseconds a process, and nothing here waits for the
process itself. What a cgroup path means is the business of `nodeagent.containers.cgroup`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gpupods.identity import Pid
from nodeagent.processes.table import ProcessFacts

CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO in the kernel's include/linux/proc_ns.h: the same number since Linux 3.8."""

ENOUGH_BYTES = 4096
"""Holds any stat, and nearly every cgroup, in one read."""

READS = 2
"""A process that is replaced by another of the same pid while it is read is read once more."""

_START_AFTER_NAME = 19
"""Field 22 of stat (man 5 proc), counted from field 3, the first behind the name."""


@dataclass(frozen=True, slots=True)
class Stat:
    """What is needed of /proc/<pid>/stat."""

    name: str
    start_ticks: int


class ProcTable:
    """The processes below ``root``, a procfs or a tree that looks like one."""

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._root = root

    def read(self, pid: Pid) -> ProcessFacts | None:
        """Everything about ``pid``; None if there is no such process (any more)."""
        folder = f"{self._root}/{pid}"
        for _ in range(READS):
            try:
                facts = _read_once(pid, folder)
            except OSError:
                continue  # ended, before or while it was read; the pid may be another's by now
            if facts is not None:
                return facts
        return None

    def sees_host_pids(self) -> bool:
        """Whether this is the initial pid namespace; False too if that cannot be read."""
        try:
            return os.readlink(self._root / "self" / "ns" / "pid") == INITIAL_PID_NAMESPACE  # noqa: PTH115
        except OSError:
            return False


def _read_once(pid: Pid, folder: str) -> ProcessFacts | None:
    """The facts of one process; None if they may be of two, or stat is not a stat.

    Raises:
        OSError: the process has ended.
    """
    # An open stat stays that of the process it was opened for, and fails once that has ended.
    stat_file = os.open(folder + "/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        before = parse_stat(os.pread(stat_file, ENOUGH_BYTES, 0))
        cgroup = _read_cgroup(folder)
        after = parse_stat(os.pread(stat_file, ENOUGH_BYTES, 0))
    finally:
        os.close(stat_file)
    if before is None or after is None or before.start_ticks != after.start_ticks:
        return None
    return ProcessFacts(pid, after.name, after.start_ticks / CLOCK_TICKS_PER_S, cgroup)


def _read_cgroup(folder: str) -> str | None:
    """The text of the cgroup file; None if it may not be read, or the process has just ended."""
    try:
        file = os.open(folder + "/cgroup", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _read_whole(file).decode(errors="replace")
    except OSError:
        return None
    finally:
        os.close(file)


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
