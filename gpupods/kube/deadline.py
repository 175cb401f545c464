"""Blocking work under a deadline, in a thread that nobody waits for at exit.

`asyncio.to_thread` would not do: a call that hangs for ever holds its executor, and so the end
of the whole program.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def start(work: Callable[[], T]) -> Future[T]:
    """Begin ``work`` in a thread of its own."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - whoever waits is told, whatever it is
            future.set_exception(error)
        else:
            future.set_result(result)

    future.set_running_or_notify_cancel()
    threading.Thread(target=run, name="blocking-call", daemon=True).start()
    return future


class OneAtATime:
    """Blocking calls of which only one may be on its way."""

    def __init__(self) -> None:
        self._busy: Future[object] | None = None

    async def call(self, work: Callable[[], T], limit_s: float) -> T:
        """Run ``work`` and wait for it, at most ``limit_s`` seconds.

        Raises:
            TimeoutError: the time is over, or an earlier call that ran out of its own still hangs.
        """
        if self._busy is not None and not self._busy.done():
            raise TimeoutError("an earlier attempt still hangs")
        future = start(work)
        self._busy = future  # type: ignore[assignment]  # Future is invariant; only done() is used
        # Not wait_for: before Python 3.12 it can lose a cancellation that comes with the result.
        async with asyncio.timeout(limit_s):
            return await asyncio.wrap_future(future)
