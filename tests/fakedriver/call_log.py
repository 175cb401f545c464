"""Reads back which NVML functions were called how often.

The library counts in a file that every process maps: counting costs it nothing to speak of,
and the counts outlive a process that is killed in the middle of a call.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

_FUNCTIONS = 128
_ENTRY = struct.Struct("<48sQQ")
FAULT_SLOTS = 1024
SIZE = _FUNCTIONS * _ENTRY.size + FAULT_SLOTS * 8
"""Bytes of the file; counters.c has the same layout."""


@dataclass(frozen=True)
class CallCount:
    """How often a function was entered and left, by all processes together."""

    started: int = 0
    finished: int = 0

    @property
    def in_progress(self) -> int:
        """Calls that have not come back; one that died with its process stays among them."""
        return self.started - self.finished


def read_calls(path: Path) -> dict[str, CallCount]:
    """Function name -> its counts, for those called at least once."""
    table = path.read_bytes()[: _FUNCTIONS * _ENTRY.size]
    counts = {}
    for name, started, finished in _ENTRY.iter_unpack(table):
        if started:
            counts[name.rstrip(b"\0").decode()] = CallCount(started, finished)
    return counts
