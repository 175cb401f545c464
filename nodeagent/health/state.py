"""The file that outlives the agent: read once, written as a whole, and only when told to.

One agent of a node has it; another that finds it taken goes on without. A file that cannot be
read is put aside, never written over.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from nodeagent.health.memory import (
    FutureVersionError,
    Memory,
    NotReadableError,
    decode,
    encode,
)

FILE = "health.json"
LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was found. ``problem`` is empty if all is as it should be."""

    memory: Memory | None
    problem: str = ""
    forgotten: bool = False
    """There was something to remember, and it is lost: that stays true."""


class StateFolder:
    """The folder of ``--state-dir``. Every method blocks for as long as the disk does."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = directory / FILE
        self._lock: int | None = None
        self.taken = False
        """Whether another agent had the folder when it was last wanted."""

    def load(self) -> Loaded:
        """Take the folder and read its file. Without a file there is nothing to remember.

        What cannot be written, as on a disk that has become read-only, is read all the same.
        """
        try:
            self._take()
        except OSError as error:
            problem = self._unwritable(error)
            found = Loaded(None) if self.taken else self._read()
            return found if found.forgotten else Loaded(found.memory, problem)
        return self._read()

    def save(self, memory: Memory) -> str:
        """Write the file: the whole of it or nothing.

        Returns: why that failed; empty if it did not.
        """
        draft = self._file.with_suffix(".new")
        try:
            if self._lock is None:
                self._take()
            with draft.open("wb") as file:
                file.write(encode(memory))
                file.flush()
                os.fsync(file.fileno())
            draft.rename(self._file)
            self._sync_directory()
        except OSError as error:
            return self._unwritable(error)
        return ""

    def close(self) -> None:
        """Let another agent have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _read(self) -> Loaded:
        try:
            return Loaded(decode(self._file.read_bytes()))
        except (FileNotFoundError, NotADirectoryError):
            return Loaded(None)
        except OSError as error:
            return self._put_aside("unreadable", f"cannot be read ({error.strerror})")
        except NotReadableError as error:
            return self._put_aside("unreadable", f"is not understood ({error})")
        except FutureVersionError as error:
            return self._put_aside("of-a-newer-agent", f"is not understood ({error})")

    def _take(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            self.taken = isinstance(error, BlockingIOError)
            raise
        self._lock = lock
        self.taken = False

    def _sync_directory(self) -> None:
        directory = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _put_aside(self, name: str, wrong: str) -> Loaded:
        aside = self._file.with_suffix(f".{name}.json")
        try:
            self._file.rename(aside)
            where = f"it was put aside as {aside.name}"
        except OSError as failed:
            where = f"it could not be put aside ({failed.strerror})"
        problem = (
            f"{self._file} {wrong}; {where}, and every GPU is judged afresh: exclude again what "
            "was excluded"
        )
        return Loaded(None, problem, forgotten=True)

    def _unwritable(self, error: OSError) -> str:
        if isinstance(error, BlockingIOError):
            return (
                f"another node agent has {self._directory}; this one keeps its state in memory "
                "alone; let each node have one agent, or set --state-dir"
            )
        return (
            f"{self._directory} cannot be written ({error.strerror or error}); what is known of "
            "GPUs' health is lost at a restart of the agent; mount a writable folder of the node "
            "there, or set --state-dir"
        )
