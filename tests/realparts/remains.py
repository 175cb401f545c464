"""What a run leaves in the system, known from the records in its folder, and its removal.

The records are files, so that a run which was killed is cleared away by the next one.
A pid counts only together with its start time: by then another may have it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.realparts import cgroups, proctree

if TYPE_CHECKING:
    from collections.abc import Iterable

_PREFIX: Final = "gpupods-run-"
_LOCK: Final = "gpupods-runs.lock"
_OWNER: Final = "owner"
_CHILDREN: Final = "children"
_CGROUPS: Final = "cgroups"
_SHIM_SOCKETS: Final = (Path("/run/containerd/s"), Path("/run/containerd"))
_DEADLINE_S: Final = 30.0
_POLL_S: Final = 0.01


class RemainsError(RuntimeError):
    """Something of a run cannot be removed."""


def make_folder() -> Path:
    """A folder for a run of this process, after clearing away those whose process has ended."""
    _clear_orphans()
    # Short, because unix sockets in it may have 107 characters at most.
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    _note(folder, _OWNER, [_identity(os.getpid())])
    return folder


def note_child(folder: Path, pid: int) -> None:
    """The run has started this process, the leader of its group."""
    _note(folder, _CHILDREN, [_identity(pid)])


def note_cgroups(folder: Path, paths: Iterable[str]) -> None:
    """The run is about to use these cgroups, and no other does."""
    _note(folder, _CGROUPS, paths)


def clear(folder: Path) -> None:
    """End every process of the run and remove what it has made, the folder last."""
    paths = _noted(folder, _CGROUPS)
    _end_children(_noted(folder, _CHILDREN))
    _end_processes(paths)
    # Containers first: a shim that still runs collects them as its children.
    _kill(proctree.with_argument("-address", str(folder / "containerd.sock")))
    _remove_shim_sockets(folder)
    _unmount(folder)
    cgroups.remove(paths, shared=not _others_use_cgroups(folder))
    shutil.rmtree(folder)


def _clear_orphans() -> None:
    place = Path(tempfile.gettempdir())
    with (place / _LOCK).open("w") as lock:
        # Two runs that begin at once would stumble over each other's removals.
        fcntl.flock(lock, fcntl.LOCK_EX)
        for owner in place.glob(f"{_PREFIX}*/{_OWNER}"):
            if not any(_lives(identity) for identity in _noted(owner.parent, _OWNER)):
                clear(owner.parent)


def _others_use_cgroups(folder: Path) -> bool:
    records = Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_CGROUPS}")
    return any(record.parent != folder for record in records)


def _note(folder: Path, name: str, lines: Iterable[str]) -> None:
    with (folder / name).open("a") as record:
        record.writelines(f"{line}\n" for line in lines)


def _noted(folder: Path, name: str) -> list[str]:
    record = folder / name
    return record.read_text().splitlines() if record.exists() else []


def _identity(pid: int) -> str:
    return f"{pid} {proctree.start_time(pid)}"


def _lives(identity: str) -> bool:
    pid = int(identity.split(maxsplit=1)[0])
    return proctree.alive(pid) and identity == _identity(pid)


def _end_children(identities: list[str]) -> None:
    """Killed, and gone: one that is dying may still write into the folder."""
    for identity in identities:
        if _lives(identity):
            os.killpg(int(identity.split()[0]), signal.SIGKILL)
    end = time.monotonic() + _DEADLINE_S
    while left := [identity for identity in identities if _lives(identity)]:
        if time.monotonic() > end:
            raise RemainsError(f"killed, but still there after {_DEADLINE_S:g} s: {left}")
        time.sleep(_POLL_S)


def _end_processes(paths: list[str]) -> None:
    end = time.monotonic() + _DEADLINE_S
    remaining = paths
    while remaining := [path for path in remaining if cgroups.processes(path)]:
        for path in remaining:
            _kill(cgroups.processes(path))
        if time.monotonic() > end:
            raise RemainsError(f"killed, but still there after {_DEADLINE_S:g} s: {remaining}")
        time.sleep(_POLL_S)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _remove_shim_sockets(folder: Path) -> None:
    """Shims listen outside of every folder that containerd can be told to use."""
    # Noted in `address` by containerd 1, in `bootstrap.json` by containerd 2.
    notes = [*folder.glob("state/*/*/*/address"), *folder.glob("state/*/*/*/bootstrap.json")]
    for note in notes:
        for socket in re.findall(r'unix://([^"\s]+)', note.read_text()):
            Path(socket).unlink(missing_ok=True)
    for place in _SHIM_SOCKETS:
        if place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def _unmount(folder: Path) -> None:
    """Before the folder is removed with all that is in it."""
    inside = [point for point in proctree.mount_points() if Path(point).is_relative_to(folder)]
    for point in reversed(inside):
        subprocess.run(["umount", "--lazy", point], timeout=_DEADLINE_S, check=True)
