"""Run the programs of the real parts as children, and leave none behind.

Each child has a process group and a log file of its own. It is ready when a
condition holds, not after a pause. What else a run leaves (cgroups, shims) is removed
by `remains`.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from tests.realparts import remains

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_POLL_S = 0.01
_LOG_TAIL_LINES = 30


class PartFailedError(RuntimeError):
    """A part did not start, or did not do what it was asked in time."""


@dataclass(frozen=True)
class Child:
    """A program that was started; `log` has its stdout and stderr."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def log_tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([f"the end of {self.log}:", *lines[-_LOG_TAIL_LINES:]])


class Supervisor:
    """The children of one run and the temporary folder they work in.

    Used as a context manager, or closed by hand; an interpreter that ends for
    another reason closes it too.
    """

    def __init__(self) -> None:
        self.folder = remains.make_folder()
        self._children: list[Child] = []
        atexit.register(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        ready: Callable[[], bool],
        deadline_s: float = 60.0,
        env: Mapping[str, str] | None = None,
    ) -> Child:
        """Start `argv` and wait until `ready()`; a program that fails to is stopped.

        `env` is added to the environment. Raises PartFailedError, with the end of the log.
        """
        log = self.folder / f"{name}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                [str(word) for word in argv],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                cwd=self.folder,
                start_new_session=True,
            )
        child = Child(name, process, log)
        self._children.append(child)
        remains.note_child(self.folder, child.pid)
        try:
            wait_until(
                lambda: _ended(child) or ready(), what=f"{name} to be ready", deadline_s=deadline_s
            )
        except PartFailedError as error:
            self.stop(child)
            raise PartFailedError(f"{error}\n{child.log_tail()}") from error
        if _ended(child):
            self._children.remove(child)
            raise PartFailedError(
                f"{name} ended with {process.returncode} at its start\n{child.log_tail()}"
            )
        return child

    def stop(self, child: Child, grace_s: float = 10.0) -> None:
        """End the child and its process group: TERM, then KILL after `grace_s` seconds."""
        _signal_group(child, signal.SIGTERM)
        try:
            child.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            _signal_group(child, signal.SIGKILL)
            child.process.wait(grace_s)
        if child in self._children:
            self._children.remove(child)

    def close(self) -> None:
        """Stop all children, the last one started first, and remove what the run has made."""
        atexit.unregister(self.close)
        for child in reversed(self._children[:]):
            self.stop(child)
        if self.folder.exists():
            remains.clear(self.folder)


def wait_until(condition: Callable[[], bool], *, what: str, deadline_s: float = 30.0) -> None:
    """Poll `condition` until it holds; raise PartFailedError naming `what` at the deadline."""
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise PartFailedError(f"waited {deadline_s:g} s in vain for {what}")
        time.sleep(_POLL_S)


def _ended(child: Child) -> bool:
    return child.process.poll() is not None


def _signal_group(child: Child, number: signal.Signals) -> None:
    # Until it is waited for, the child's pid names its group and nothing else's.
    if _ended(child):
        return
    os.killpg(child.pid, number)
