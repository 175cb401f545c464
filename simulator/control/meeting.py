"""Where simulations and those who look for them meet: a folder of the user's, a socket for each.

Nobody else can read the folder or connect. What a simulation that was killed left is removed by
whoever finds that nobody answers there.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import msgspec

from simulator.injection import Injection

FOLDER = "gpupods-simulations-{uid}"
SUFFIX = ".sock"
LONGEST_PATH = 100
"""Bytes: the kernel takes 107."""
MOST_BYTES = 64 * 1024
"""Of one message, which is one line of JSON."""


class About(msgspec.Struct, frozen=True):
    """A running simulation, to tell it from another."""

    pid: int
    kubeconfig: str
    nodes: int
    see: str = ""
    """The command that shows its GPUs."""

    def __str__(self) -> str:
        """For a list of them."""
        return f"{self.pid} ({self.nodes} nodes, kubeconfig {self.kubeconfig})"


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is asked of a simulation; without an injection: who it is."""

    inject: Injection | None = None


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What it answers. ``error`` says why nothing was done."""

    about: About | None = None
    done: tuple[str, ...] = ()
    error: str = ""


def folder() -> Path:
    """Where the sockets are, whether it is there or not."""
    return Path(tempfile.gettempdir()) / FOLDER.format(uid=os.getuid())


def own_folder() -> Path:
    """The folder, made if need be.

    Raises:
        OSError: it cannot be made, or is not this user's alone.
    """
    path = folder()
    path.mkdir(mode=0o700, exist_ok=True)
    check_ours(path)
    return path


def check_ours(path: Path) -> None:
    """See that nobody else could have put something there.

    Raises:
        PermissionError: somebody could have.
    """
    there = path.lstat()
    ours = stat.S_ISDIR(there.st_mode) and there.st_uid == os.getuid()
    if not ours or stat.S_IMODE(there.st_mode) & 0o077:
        raise PermissionError(f"{path} is not a folder of yours alone: remove it")


def socket_path(pid: int) -> Path:
    """The socket of the simulation in this process, in the folder.

    Raises:
        OSError: the temporary folder's name is too long for a socket.
    """
    path = own_folder() / f"{pid}{SUFFIX}"
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise OSError(f"{path} is too long for a socket: set TMPDIR to a shorter path")
    return path


def sockets() -> list[Path]:
    """Those that are there, of simulations that run or were killed.

    Raises:
        PermissionError: the folder is not this user's alone.
    """
    path = folder()
    if not path.is_dir():
        return []
    check_ours(path)
    return sorted(path.glob(f"*{SUFFIX}"))
