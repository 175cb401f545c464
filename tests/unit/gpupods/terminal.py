"""Runs a command on a terminal of its own and keeps what it wrote there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

ROWS = 40
LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class Shown:
    """What the terminal got, and how the command ended."""

    text: str
    exit_code: int


def run_on_terminal(command: Sequence[str], columns: int, **environment: str) -> Shown:
    """Run ``command`` with stdin, stdout and stderr on a terminal ``columns`` wide."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    process = subprocess.Popen(
        command,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**kept, "TERM": "xterm-256color", **environment},
    )
    os.close(slave)
    text = b"".join(_until_closed(master)).decode().replace("\r\n", "\n")
    os.close(master)
    return Shown(text, process.wait(LIMIT_S))


def _until_closed(master: int) -> Iterator[bytes]:
    with contextlib.suppress(OSError):  # EIO: nobody has the terminal open any more
        while data := os.read(master, 65536):
            yield data
