"""A simulated cluster in a process of its own, and a home in which the pages' commands are run.

Pages name the usual addresses; a world has others, so that it can run beside anything, and writes
the pages' in their place in what is printed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 90.0
BIN = Path(sys.executable).parent

GRPC, HTTP, AGENT = "127.0.0.1:50050", "127.0.0.1:8080", "127.64.0.1:50051"
ANYWHERE = "--grpc-listen 127.0.0.1:0 --http-listen 127.0.0.1:0"
STANDS = "Ctrl-C ends it."


@dataclass(frozen=True)
class Ran:
    """What a command printed, on both streams, and how it ended."""

    printed: str
    code: int


class World:
    """Where commands are run: a home folder, and addresses for those that the pages name."""

    def __init__(
        self, home: Path, addresses: dict[str, str] | None = None, temporary: Path | None = None
    ) -> None:
        self.home = home
        self._temporary = temporary or home / "tmp"
        """Where commands find the simulation that is theirs, and no other."""
        self._temporary.mkdir(exist_ok=True)
        self._addresses = addresses or {}
        (home / "bin").mkdir(parents=True, exist_ok=True)

    def add_program(self, name: str, program: Path) -> None:
        """Let commands find a program by this name."""
        link = self.home / "bin" / name
        if not link.exists():
            link.symlink_to(program)

    def has(self, name: str) -> bool:
        return shutil.which(name, path=self._environment()["PATH"]) is not None

    def run(self, command: str, **environment: str) -> Ran:
        """Run a command line of a page to its end."""
        done = subprocess.run(
            ["bash", "-c", self._here(command)],
            cwd=self.home,
            env=self._environment() | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        return Ran(self._as_on_pages(done.stdout), done.returncode)

    @contextmanager
    def started(self, command: str, until: str, **environment: str) -> Iterator[str]:
        """Run a command that stays, from when it has printed ``until``; gives what it printed.

        It must end with 0 on SIGTERM.
        """
        process = subprocess.Popen(
            ["bash", "-c", f"exec {self._here(command)}"],
            cwd=self.home,
            env=self._environment() | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield _printed_until(process, until)
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=LIMIT_S)
            assert process.returncode == 0, rest
        finally:
            process.kill()
            process.wait()

    @contextmanager
    def simulation(self, command: str) -> Iterator[tuple[World, str]]:
        """Start a simulation as a page does; gives its world, and what it printed."""
        temporary = Path(tempfile.mkdtemp(dir=self.home))
        with self.started(f"{command} {ANYWHERE}", STANDS, TMPDIR=str(temporary)) as printed:
            agents = _found(r"port (\d+) of each node", printed)
            addresses = {
                GRPC: _found(r"gRPC +(\S+)", printed),
                HTTP: _found(r"HTTP +http://(\S+)", printed),
                AGENT: f"127.64.0.1:{agents}",
            }
            yield World(self.home, addresses, temporary), printed

    def _here(self, command: str) -> str:
        for named, real in self._addresses.items():
            command = command.replace(named, real)
        return command

    def _as_on_pages(self, printed: str) -> str:
        for named, real in self._addresses.items():
            printed = printed.replace(real, named)
        return printed

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if "GPUPODS" not in name}
        path = f"{self.home / 'bin'}:{BIN}:{os.environ['PATH']}"
        kept |= {"TMPDIR": str(self._temporary), "NO_PROXY": "*", "no_proxy": "*"}
        return kept | {"HOME": str(self.home), "PATH": path}


def _printed_until(process: subprocess.Popen[str], until: str) -> str:
    assert process.stdout is not None
    printed = ""
    overdue = threading.Timer(LIMIT_S, process.kill)
    overdue.start()
    try:
        for line in process.stdout:
            printed += line
            if until in line:
                return printed
    finally:
        overdue.cancel()
    raise AssertionError(f"it ended before {until!r}: {printed}")


def _found(pattern: str, printed: str) -> str:
    match = re.search(pattern, printed)
    assert match is not None, printed
    return match[1]
