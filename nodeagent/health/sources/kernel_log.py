"""The kernel log as a source: /dev/kmsg, from the first record that it still has.

It has what happened before the agent started, and XIDs of cards that send no events. Reads never
block: the event loop says when there is something. Records of others than the kernel (facility
not 0) are not believed, unless that is asked for: any process that may write the log could make
a GPU unfit.

The kernel dates records by a clock of its own, which nobody sets right: after weeks it is off by
minutes, and it stands still while the machine sleeps. So what comes while the log is listened to is
dated by the clock that all else is measured by; only what was there before has the kernel's time.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Callable

from gpupods.identity import GpuUuid
from nodeagent.health.memory import LogMark
from nodeagent.health.observations import CaughtUp, SourceTrouble, Tell, XidOfGpu, XidSeen
from nodeagent.health.sources.kernel_lines import KERNEL_FACILITY, read_record, read_xid

NAME = "kernel log"
_RECORD_SIZE = 8192
"""The kernel refuses a read that is shorter than a record."""
_AT_A_TIME = 500
"""Records, before others of the event loop have their turn."""


class KernelLog:
    """A `HealthSource`.

    Args:
        path: /dev/kmsg, or what stands for it.
        heard: Up to which record of this boot everything is known already.
        note: Called with the sequence number of each XID's record, after it was told.
        boot_id: Of the boot that the log is of.
        any_facility: Believe lines that processes wrote.
        again_s: After so long it is tried again, where it cannot be read.
        clock: CLOCK_BOOTTIME: what all else is dated by.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        heard: Callable[[], LogMark],
        note: Callable[[int], None],
        boot_id: Callable[[], str],
        *,
        any_facility: bool = False,
        again_s: float = 30.0,
        clock: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
    ) -> None:
        self._path = path
        self._heard = heard
        self._note = note
        self._boot_id = boot_id
        self._any_facility = any_facility
        self._again_s = again_s
        self._clock = clock
        self._behind = True
        self._listens = False
        """All that was there when the log was opened has been read."""

    async def watch(self, tell: Tell) -> None:
        """See `HealthSource.watch`."""
        told = ""
        self._behind = True
        while True:
            try:
                file = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as error:
                problem = self._cannot(error)
                if problem != told:
                    tell(SourceTrouble(NAME, problem))
                    told = problem
                self._caught_up(tell)
                await asyncio.sleep(self._again_s)
                continue
            if told:
                tell(SourceTrouble(NAME, ""))
                told = ""
            try:
                await self._follow(file, tell)
            except OSError as error:
                told = self._cannot(error)
                tell(SourceTrouble(NAME, told))
                self._caught_up(tell)
                await asyncio.sleep(self._again_s)
            finally:
                os.close(file)

    async def _follow(self, file: int, tell: Tell) -> None:
        """Read what is there, then whenever there is more.

        Raises:
            OSError: it cannot be read.
        """
        loop = asyncio.get_running_loop()
        more = asyncio.Event()
        self._listens = False
        while True:
            if self._read_some(file, tell):
                await asyncio.sleep(0)
                continue
            self._listens = True
            self._caught_up(tell)
            more.clear()
            loop.add_reader(file, more.set)
            try:
                await more.wait()
            finally:
                loop.remove_reader(file)

    def _read_some(self, file: int, tell: Tell) -> bool:
        """Whether there may be more at once. Raises OSError as `_follow` does."""
        for _ in range(_AT_A_TIME):
            try:
                record = os.read(file, _RECORD_SIZE)
            except BlockingIOError:
                return False
            except OSError as error:
                if error.errno == errno.EPIPE:
                    continue  # overwritten before it was read: the next read has the oldest left
                raise
            if not record:
                raise OSError(errno.ENODATA, "it has an end, as the kernel's log has not")
            self._hear(record, tell)
        return True

    def _hear(self, raw: bytes, tell: Tell) -> None:
        record = read_record(raw)
        if record is None or not (self._any_facility or record.facility == KERNEL_FACILITY):
            return
        found = read_xid(record.text)
        heard = self._heard()
        if found is None or (
            heard.boot_id == self._boot_id() and record.sequence <= heard.sequence
        ):
            return
        at_s = self._clock() if self._listens else record.at_s
        seen = XidSeen(found.xid, at_s, NAME, found.detail)
        tell(XidOfGpu(GpuUuid(""), found.pci_address, seen))
        self._note(record.sequence)

    def _caught_up(self, tell: Tell) -> None:
        """All that was there has been told; where the log cannot be read, nothing will be."""
        if self._behind:
            self._behind = False
            tell(CaughtUp(NAME))

    def _cannot(self, error: OSError) -> str:
        return (
            f"{os.fspath(self._path)} cannot be read ({error.strerror}): XIDs from before the "
            "agent's start, and those of cards that send no events, go unseen; run the agent with "
            "CAP_SYSLOG and mount /dev/kmsg, or set --kernel-log to nothing"
        )
