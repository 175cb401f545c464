"""NVML as a source of news: a child process that watches, and can be killed when it hangs.

What the child does is in `nodeagent.health.sources.nvml_worker`. Here it is started, listened to
and replaced; a silence that lasts too long is itself the news that the driver hangs.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping

import msgspec

from gpupods.identity import GpuUuid
from nodeagent.gpus.progress import Progress, new_file
from nodeagent.gpus.retry import BackOff
from nodeagent.health.observations import (
    DriverRead,
    DriverSilent,
    ListedGpu,
    Presence,
    Reading,
    SourceTrouble,
    Tell,
    XidOfGpu,
    XidSeen,
)
from nodeagent.health.sources.nvml_child import CLOSING_S, Child, Facts, Message, signal_name

NAME = "nvml"
_MODULE = "nodeagent.health.sources.nvml_worker"
_MOST_UNREAPED = 3
_RARELY = 4
"""How much longer the pauses are where no GPU was ever seen: there may never be a driver."""
_DEATHS_THAT_TELL = 3
"""Children in a row that die without a reading, before that is the driver's doing."""


class NvmlWatch:
    """A `HealthSource`.

    Args:
        interval_s: From one reading to the next.
        hang_limit_s: How much later than that a reading may be, before the driver hangs.
        start_limit_s: The same for a child's first reading: initialising takes seconds.
        expected: How many GPUs this node is known to have.
        environment: Added to the agent's own for the child.
        clock: CLOCK_BOOTTIME: what XIDs are dated by.
    """

    def __init__(
        self,
        interval_s: float = 5.0,
        hang_limit_s: float = 10.0,
        *,
        start_limit_s: float = 30.0,
        expected: Callable[[], int] = lambda: 0,
        environment: Mapping[str, str] | None = None,
        back_off: BackOff | None = None,
        clock: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
    ) -> None:
        self._interval_s = interval_s
        self._hang_limit_s = hang_limit_s
        self._start_limit_s = max(start_limit_s, hang_limit_s)
        self._expected = expected
        self._environment = dict(environment or {})
        self._back_off = back_off or BackOff()
        self._clock = clock
        self._ending: set[asyncio.Task[None]] = set()
        self._deaths = 0
        self._trouble = ""
        self.child_pid: int | None = None

    async def watch(self, tell: Tell) -> None:
        """See `HealthSource.watch`."""
        try:
            await self._watch(tell)
        finally:
            if self._ending:
                await asyncio.wait(self._ending, timeout=CLOSING_S)

    async def _watch(self, tell: Tell) -> None:
        while True:
            await self._room_for_a_child()
            try:
                child = await self._start()
            except OSError as error:
                self._troubled(tell, f"no process could be started to watch the driver: {error}")
            else:
                await self._listen(child, tell)
            rarely = 1 if self._expected() else _RARELY
            await asyncio.sleep(rarely * self._back_off.pause())

    async def _room_for_a_child(self) -> None:
        """Children that the kernel holds are waited for: each costs the node memory."""
        while len(self._ending) >= _MOST_UNREAPED:
            await asyncio.wait(self._ending, return_when=asyncio.FIRST_COMPLETED)

    async def _start(self) -> Child:
        shared = new_file()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", _MODULE, str(os.getpid()), str(shared)),
                *(str(self._interval_s), str(self._expected())),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={**os.environ, **self._environment},
                pass_fds=(shared,),
            )
            return Child(process, Progress(shared))
        finally:
            os.close(shared)

    async def _listen(self, child: Child, tell: Tell) -> None:
        """Until it ends, or is silent for too long. It is gone afterwards."""
        self.child_pid = child.process.pid
        limit_s = self._start_limit_s
        try:
            while True:
                message = await child.message(limit_s)
                self._hear(message, tell)
                if message.gpus is not None:
                    limit_s = self._interval_s + self._hang_limit_s
        except TimeoutError:
            tell(DriverSilent(Presence.DRIVER_HANGS, _hang(child.progress.read(), limit_s)))
        except (asyncio.IncompleteReadError, ConnectionError, msgspec.DecodeError) as error:
            await self._died(child, error, tell)
        finally:
            self.child_pid = None
            self._drop(child)

    def _hear(self, message: Message, tell: Tell) -> None:
        if message.gpus is not None:
            self._deaths = 0
            self._back_off.reset()
            self._troubled(tell, "")
            tell(DriverRead(tuple(map(_listed, message.gpus))))
        if message.xid is not None:
            seen = XidSeen(message.xid, self._clock(), NAME)
            tell(XidOfGpu(GpuUuid(message.uuid), "", seen))
        if message.unavailable:
            presence = (
                Presence.DRIVER_NOT_LOADED if message.not_loaded else Presence.DRIVER_UNAVAILABLE
            )
            self._deaths = 0
            tell(DriverSilent(presence, message.unavailable))
        if message.problem is not None:
            tell(SourceTrouble(f"{NAME} events", message.problem))

    async def _died(self, child: Child, error: Exception, tell: Tell) -> None:
        """A child that ends after it has said why is no more news."""
        if isinstance(error, msgspec.DecodeError):
            child.kill()
        code = await child.exit_code()
        if code is None:
            held_by = child.progress.read() or "starting"
            words = f"the process that watches the driver does not end, held in {held_by}"
            tell(DriverSilent(Presence.DRIVER_HANGS, words))
            return
        if code == 0:
            return
        self._deaths += 1
        how = f"ended by {signal_name(-code)}" if code < 0 else f"exit code {code}"
        if isinstance(error, msgspec.DecodeError):
            how = f"what it says makes no sense: {error}"
        doing = child.progress.read() or "starting"
        words = f"the process that watches the driver died in {doing} ({how})"
        self._troubled(tell, words)
        if self._deaths >= _DEATHS_THAT_TELL:
            tell(DriverSilent(Presence.DRIVER_UNAVAILABLE, f"{words}, time and again"))

    def _troubled(self, tell: Tell, problem: str) -> None:
        if problem != self._trouble:
            self._trouble = problem
            tell(SourceTrouble(NAME, problem))

    def _drop(self, child: Child) -> None:
        child.leave()
        reaping = asyncio.create_task(child.ended())
        self._ending.add(reaping)
        reaping.add_done_callback(self._ending.discard)


def _listed(facts: Facts) -> ListedGpu:
    reading = Reading(
        facts.presence,
        facts.recovery_action,
        facts.remap_failure,
        facts.remap_pending,
        facts.uncorrectable_errors,
        facts.detail,
        NAME,
    )
    uuid = GpuUuid(facts.uuid)
    return ListedGpu(facts.index, uuid, facts.pci_address, facts.name, reading)


def _hang(doing: str, limit_s: float) -> str:
    return f"nothing was heard for {limit_s:g} s from the process in {doing or 'starting'}"
