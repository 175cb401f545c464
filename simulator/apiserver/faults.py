"""What can be wrong with the simulated API server, switched on and off from outside."""

from __future__ import annotations

import asyncio
from collections import deque

from simulator.apiserver.status import StatusError


class Faults:
    """Read by every request and every watch.

    Attributes:
        delay_s: How long each request waits before it is looked at.
        refusals: Errors to be given to the next requests, one each.
        denied: What nobody may do any more, as (verb, resource).
        protected: Pods, as "namespace/name", that no disruption budget allows to be evicted.
    """

    def __init__(self) -> None:
        self.delay_s = 0.0
        self.refusals: deque[StatusError] = deque()
        self.denied: set[tuple[str, str]] = set()
        self.protected: set[str] = set()
        self._answering = asyncio.Event()
        self._answering.set()

    def set_half_open(self, *, half_open: bool) -> None:
        """Keep connections and accept new ones, and say nothing on any of them."""
        if half_open:
            self._answering.clear()
        else:
            self._answering.set()

    def refuse_next(self, code: int, reason: str, times: int = 1) -> None:
        """Let the next ``times`` requests fail with a Status of ``code``."""
        self.refusals.extend([StatusError(code, reason, f"{reason} (simulated)")] * times)

    async def answering(self) -> None:
        """Wait while the server is half-open."""
        await self._answering.wait()

    async def before_request(self) -> None:
        """Do to a request what is to be done to it.

        Raises:
            StatusError: it is its turn to be refused.
        """
        await self.answering()
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if self.refusals:
            raise self.refusals.popleft()
