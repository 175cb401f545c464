"""Which call of the driver a child process is in: a note that the agent can read at any time.

The child writes before each call, into memory that both have mapped; when it has to be killed
the agent knows what held it. Imported by the child process: keep it light.
"""

from __future__ import annotations

import mmap
import os

SIZE = 256
_LENGTH_SIZE = 1
_LONGEST = 255


class Progress:
    """The note. Writing costs about as much as a function call."""

    def __init__(self, file: int) -> None:
        """Map an open file of `SIZE` bytes."""
        self._map = mmap.mmap(file, SIZE)

    def note(self, doing: str) -> None:
        """Replace the note by the first 255 bytes of ``doing``."""
        text = doing.encode()[:_LONGEST]
        self._map[: _LENGTH_SIZE + len(text)] = bytes((len(text),)) + text

    def read(self) -> str:
        """What was noted last; empty if nothing was."""
        return self._map[_LENGTH_SIZE : _LENGTH_SIZE + self._map[0]].decode(errors="replace")

    def close(self) -> None:
        """Unmap it."""
        self._map.close()


def new_file() -> int:
    """A file of nobody's but those who have it open: a descriptor, the caller's to close."""
    file = os.memfd_create("gpupods-progress")
    os.ftruncate(file, SIZE)
    return file
