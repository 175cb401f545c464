"""One sample for all who ask at the same moment, and an older one for those who accept it.

At most one sample is being taken and one is waiting for its turn, however many ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from nodeagent.gpus.known import identity_only
from nodeagent.gpus.sample import GpuSample, GpuSource, Missing, MissingKind

_LONGEST_S = 30.0


@dataclass(slots=True, eq=False)
class _Round:
    """One sample, waited for by any number of callers."""

    answer: asyncio.Future[GpuSample]
    started: float | None = None
    """None: it has not begun. On the clock of the sampler; never after the sample's ``taken``."""
    callers: int = 0


class SharedSampler:
    """Shares the samples of ``source``. Use it in one event loop.

    Args:
        source: What takes the samples.
        longest_s: How long a sample is waited for on behalf of all; each caller waits for no
            longer than its own deadline.
        gather_s: How long after a sample the next one waits for those who shared it: callers who
            ask again as soon as they have their answer then share the next one too. One who asks
            alone is not kept waiting.
        clock: Seconds, for the age of samples.
    """

    def __init__(
        self,
        source: GpuSource,
        *,
        longest_s: float = _LONGEST_S,
        gather_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._longest_s = longest_s
        self._gather_s = gather_s
        self._gather_until = -math.inf
        self._expected = 0
        self._all_here = asyncio.Event()
        self._clock = clock
        self._serving: asyncio.Task[None] | None = None
        self._running: _Round | None = None
        self._waiting: _Round | None = None
        self._last: tuple[float, GpuSample] | None = None

    async def sample(self, max_age_s: float, deadline_s: float) -> GpuSample:
        """A sample that was begun no longer than ``max_age_s`` before this call.

        With 0 the driver is asked after this call. If that takes longer than ``deadline_s``,
        the answer has the GPUs last seen and says so. Nothing that another caller does, be it
        to give up, changes what this one gets.
        """
        oldest = self._clock() - max_age_s
        if self._last is not None and self._last[0] >= oldest:
            return self._last[1]
        round_ = self._round_since(oldest)
        round_.callers += 1
        if round_ is self._waiting and round_.callers >= self._expected:
            self._all_here.set()
        try:
            async with asyncio.timeout(deadline_s):
                return await asyncio.shield(round_.answer)
        except TimeoutError:
            return self._late(deadline_s)

    async def close(self) -> None:
        """Stop, and close the source. Callers that still wait are cancelled."""
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait({self._serving})
        self._abandon()
        await self._source.close()

    def _round_since(self, oldest: float) -> _Round:
        running = self._running
        if running is not None and running.started is not None and running.started >= oldest:
            return running
        if self._waiting is None:
            self._waiting = _Round(asyncio.get_running_loop().create_future())
            if self._serving is None or self._serving.done():
                self._serving = asyncio.create_task(self._serve())
        return self._waiting

    async def _serve(self) -> None:
        """Take one sample after the other until nobody waits."""
        while self._waiting is not None:
            await self._gather(self._waiting)
            self._running, self._waiting = self._waiting, None
            await self._take(self._running)
            waiting = 0 if self._waiting is None else self._waiting.callers
            self._expected = self._running.callers + waiting
            self._gather_until = self._clock() + self._gather_s
            self._running = None

    async def _gather(self, round_: _Round) -> None:
        """Wait for as many as there were lately, or until it has been long enough."""
        left_s = self._gather_until - self._clock()
        if round_.callers >= self._expected or left_s <= 0:
            return
        self._all_here.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left_s):
                await self._all_here.wait()

    def _abandon(self) -> None:
        for left in (self._running, self._waiting):
            if left is not None:
                left.answer.cancel()
        self._running = self._waiting = None

    async def _take(self, round_: _Round) -> None:
        round_.started = self._clock()
        try:
            sample = await self._source.sample(self._longest_s)
        except Exception as error:  # noqa: BLE001 - a source's bug is its callers' to see
            round_.answer.set_exception(error)
            round_.answer.exception()  # seen, also where every caller has left
            return
        if sample.taken is not None:
            self._last = (round_.started, sample)
        round_.answer.set_result(sample)

    def _late(self, deadline_s: float) -> GpuSample:
        gpus = () if self._last is None else tuple(map(identity_only, self._last[1].gpus))
        reason = (
            f"the driver has not answered within the {deadline_s:.3g} s that this request could "
            "wait; ask with a longer deadline, or accept an older sample"
        )
        return GpuSample(None, gpus, (Missing(MissingKind.DRIVER, "", reason),))
