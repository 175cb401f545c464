"""The real source of GPU samples: a child process that asks the driver, and can be killed.

Keeps at most one child alive and replaces it when a call exceeds its limit or the child dies;
while none answers, samples come at once, with the GPUs last seen and the reason. What is asked
of NVML is in `nodeagent.gpus.nvml`; sharing one sample among callers in `nodeagent.gpus.sharing`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from nodeagent.gpus.child import Child, ChildDiedError
from nodeagent.gpus.known import KnownGpus
from nodeagent.gpus.retry import BackOff
from nodeagent.gpus.sample import GpuSample, Missing, MissingKind

_MOST_UNREAPED = 3
_PATIENCE_S = 0.5
"""How long a caller waits for a driver that has just failed."""
_CLOSING_S = 2.0
_TRY_HANGING = (
    "try `nvidia-smi` on the node; if it hangs too, see `dmesg | grep -e NVRM -e Xid` and restart "
    "the node"
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Why there is no sample, and since when."""

    since: float
    """On the monotonic clock: when the first of the calls began that have failed since."""
    reason: str
    hangs: bool = False

    def words(self, now: float) -> str:
        """For people."""
        if not self.hangs:
            return self.reason
        return f"the driver has not answered for {now - self.since:.1f} s: {self.reason}"


class DriverProcess:
    """A `GpuSource` that asks the NVIDIA driver of this node. Use it in one event loop.

    Args:
        call_limit_s: A sample that takes longer costs its child process the life.
        environment: Added to the agent's own environment for the child.
        start_limit_s: The same limit for the first sample of each child, which loads and
            initialises the driver's library: that takes seconds where no persistence daemon runs.
        back_off: The pauses between failures.
    """

    def __init__(
        self,
        call_limit_s: float = 2.0,
        environment: Mapping[str, str] | None = None,
        *,
        start_limit_s: float = 15.0,
        back_off: BackOff | None = None,
    ) -> None:
        self._call_limit_s = call_limit_s
        self._start_limit_s = max(start_limit_s, call_limit_s)
        self._environment = dict(environment or {})
        self._back_off = back_off or BackOff()
        self._known = KnownGpus()
        self._child: Child | None = None
        self._asking: asyncio.Task[GpuSample] | None = None
        self._asked_at = 0.0
        self._ending: set[asyncio.Task[None]] = set()
        self._trouble: _Trouble | None = None
        self._retry_at = 0.0
        self._closed = False

    async def sample(self, deadline_s: float) -> GpuSample:
        """See `GpuSource.sample`. While the driver fails, the answer comes within half a second."""
        if self._closed:
            raise RuntimeError("this driver process has been closed")
        try:
            async with asyncio.timeout(deadline_s):
                return await self._in_turn()
        except TimeoutError:
            return self._unanswered()

    async def close(self) -> None:
        """End the child, and wait for that as long as the kernel may need."""
        self._closed = True
        if self._asking is not None and not self._asking.done():
            self._asking.cancel()
            await asyncio.wait({self._asking})
        self._drop_child()
        if self._ending:
            await asyncio.wait(self._ending, timeout=_CLOSING_S)
        if self._ending:
            log.warning("driver.child_stuck", children=len(self._ending))

    def _patience_s(self) -> float | None:
        """How long the sample that is asked for is worth waiting for; None: as long as it takes.

        After a failure not long, and for those who have waited for what failed no longer.
        """
        if self._trouble is None:
            return None
        return max(0.0, self._asked_at + _PATIENCE_S - time.monotonic())

    async def _in_turn(self) -> GpuSample:
        """One sample at a time; one whose caller has left goes on until its own limit."""
        while self._asking is not None and not self._asking.done():
            await self._wait_for(self._asking)
        if self._trouble is not None and time.monotonic() < self._retry_at:
            return self._unanswered()
        self._asked_at = time.monotonic()
        asking = self._asking = asyncio.create_task(self._ask())
        await self._wait_for(asking)
        return await asking

    async def _wait_for(self, asking: asyncio.Task[GpuSample]) -> None:
        """Raises TimeoutError: it takes longer than is worth waiting."""
        done, _ = await asyncio.wait({asking}, timeout=self._patience_s())
        if not done:
            raise TimeoutError

    async def _ask(self) -> GpuSample:
        try:
            sample = await self._ask_twice()
        except (TimeoutError, ChildDiedError, OSError) as error:
            self._failed(_reason_of(error), hangs=isinstance(error, TimeoutError))
            return self._unanswered()
        if sample.taken is None:
            self._failed("; ".join(entry.reason for entry in sample.missing))
            return self._unanswered()
        if self._trouble is not None:
            log.info("driver.answers")
        self._trouble = None
        self._back_off.reset()
        return self._known.recognise(sample)

    async def _ask_twice(self) -> GpuSample:
        """A child that is found dead, or dies over the question, is replaced once at once."""
        try:
            return await self._ask_child()
        except ChildDiedError as error:
            log.warning("driver.child_died", how=str(error))
            self._drop_child()
            return await self._ask_child()

    async def _ask_child(self) -> GpuSample:
        limit_s = self._call_limit_s
        if self._child is None or not self._child.alive:
            self._drop_child()
            self._child = await self._start_child()
            limit_s = self._start_limit_s
        try:
            return await self._child.ask(limit_s)
        except TimeoutError as error:
            held_by = self._child.doing or "starting"
            raise TimeoutError(
                f"a sample was not there after {limit_s:g} s, so the process that waited for it, "
                f"in {held_by}, was killed; {_TRY_HANGING}"
            ) from error

    async def _start_child(self) -> Child:
        if len(self._ending) >= _MOST_UNREAPED:
            raise TimeoutError(
                f"{len(self._ending)} killed processes are still held in the kernel by calls of "
                f"the driver, and no more are started until one ends; {_TRY_HANGING}"
            )
        return await Child.start(self._environment)

    def _failed(self, reason: str, *, hangs: bool = False) -> None:
        """Whatever has failed, the next attempt is a fresh child's."""
        self._drop_child()
        since = self._asked_at if self._trouble is None else self._trouble.since
        if self._trouble is None or self._trouble.reason != reason:
            log.warning("driver.unavailable", reason=reason)
        self._trouble = _Trouble(since, reason, hangs)
        self._retry_at = time.monotonic() + self._back_off.pause()

    def _drop_child(self) -> None:
        """Kill it, and reap it whenever the kernel lets it go."""
        if self._child is None:
            return
        self._child.kill()
        reaping = asyncio.create_task(self._child.ended())
        self._ending.add(reaping)
        reaping.add_done_callback(self._ending.discard)
        self._child = None

    def _unanswered(self) -> GpuSample:
        """The GPUs last seen, and why nothing is known of them now."""
        now = time.monotonic()
        trouble = self._trouble or _Trouble(
            self._asked_at,
            "a sample is waited for still; this request could wait no longer",
            hangs=True,
        )
        why = Missing(MissingKind.DRIVER, "", trouble.words(now))
        return GpuSample(None, self._known.last_seen(), (why,))


def _reason_of(error: Exception) -> str:
    if isinstance(error, ChildDiedError):
        return (
            f"the process that asks the driver dies over it ({error}); see "
            "`dmesg | grep -e NVRM -e Xid` on the node, and whether `nvidia-smi` works there"
        )
    if isinstance(error, TimeoutError):
        return str(error)
    return f"no process could be started to ask the driver: {error}"
