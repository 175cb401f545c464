"""What processes have used, as /proc has it: processor time and memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_PROC = Path("/proc")


def tree(pid: int) -> list[int]:
    """The process and all below it."""
    found = [pid]
    for thread in (_PROC / str(pid) / "task").iterdir():
        for child in (thread / "children").read_text().split():
            found += tree(int(child))
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """Processor time that all threads of these processes have used; the kernel counts in ns."""
    return sum(
        int((thread / "schedstat").read_text().split()[0]) / 1e9
        for pid in pids
        for thread in (_PROC / str(pid) / "task").iterdir()
    )


def memory(pid: int, kind: str) -> int:
    """Bytes of one line of /proc/PID/smaps_rollup."""
    for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"/proc/{pid}/smaps_rollup has no {kind}")
