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
    """The parent's pid. Raises FileNotFoundError when the process is gone."""
    stat = (_PROC / str(pid) / "stat").read_text()
    # The name in parentheses may itself hold spaces and parentheses.
    return int(stat.rpartition(")")[2].split()[1])


def alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


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


def mounts() -> str:
    """The mounts that this process sees, one a line."""
    return (_PROC / "self" / "mountinfo").read_text()


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
