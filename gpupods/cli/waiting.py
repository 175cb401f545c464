"""A spinner on stderr for those who wait, and only for them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from rich.console import Console

PATIENCE_S = 0.7


@contextlib.contextmanager
def waiting(console: Console, text: str, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Show ``text`` and a spinner while inside, after ``patience_s``, if a terminal is there."""
    if not console.is_terminal:
        yield
        return
    done = threading.Event()
    spinner = threading.Thread(target=_spin, args=(console, text, patience_s, done), daemon=True)
    spinner.start()
    try:
        yield
    finally:
        done.set()
        spinner.join()


def _spin(console: Console, text: str, patience_s: float, done: threading.Event) -> None:
    if done.wait(patience_s):
        return
    with console.status(text):
        done.wait()
