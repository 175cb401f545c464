"""What /proc says of processes: descendants, parents, cgroups.

Read here a second time, on purpose: the tests compare the agent's answers with this.
"""

from __future__ import annotations

from pathlib import Path

_PROC = Path("/proc")


def descendants(pid: int) -> tuple[int, ...]:
    """`pid` and every process under it, parents before children, siblings by age."""
    found = [pid]
    for child in _children(pid):
        found += descendants(child)
    return tuple(found)


def parent(pid: int) -> int:
    """The parent's pid; 0 when the process is gone."""
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in {"Z", "X"}


def cgroup_paths(pid: int) -> frozenset[str]:
    """The paths in /proc/<pid>/cgroup: one for each v1 controller, one for v2."""
    lines = (_PROC / str(pid) / "cgroup").read_text().splitlines()
    return frozenset(line.split(":", 2)[2] for line in lines)


def with_argument(*words: str) -> tuple[int, ...]:
    """The pids of the processes whose command lines hold all of `words` as arguments."""
    wanted = set(words)
    return tuple(
        int(entry.name)
        for entry in _PROC.iterdir()
        if entry.name.isdigit() and wanted <= set(_arguments(entry))
    )


def mount_points() -> list[str]:
    """Where this process sees something mounted, in the order of mounting."""
    lines = (_PROC / "self" / "mountinfo").read_text().splitlines()
    return [line.split()[4] for line in lines]


def start_time(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when it is gone."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def _children(pid: int) -> list[int]:
    try:
        text = (_PROC / str(pid) / "task" / str(pid) / "children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return sorted(int(word) for word in text.split())


def _arguments(entry: Path) -> list[str]:
    try:
        return (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat from the third (state) on; none when it is gone."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    # The name in parentheses may itself hold spaces and parentheses.
    return text.rpartition(")")[2].split()
