"""Standard streams that the caller closed: the program runs on, and what cannot be written is told.

A program that is started without one of the descriptors 0, 1 and 2 gives that number to the next
file or socket it opens. What is printed then goes there, and libuv ends a process that closes it.
"""

from __future__ import annotations

import os
import sys

_STDIN, _STDOUT, _STDERR = range(3)


def open_closed_streams() -> None:
    """Put the null device in the place of each standard stream that is closed.

    Reading finds the end at once, errors and logs go nowhere, and writing to stdout fails: an
    answer is not lost in silence. Call it before anything is opened.
    """
    for descriptor, mode in ((_STDIN, os.O_RDONLY), (_STDOUT, os.O_RDONLY), (_STDERR, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest free number, which is this one
    # Python has None for those that it found closed.
    sys.stdin = sys.stdin or os.fdopen(_STDIN, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(_STDOUT, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(_STDERR, "w", closefd=False)


def discard_stdout() -> None:
    """After a failed write: else Python complains, at its end, that it cannot flush the rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
