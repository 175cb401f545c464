"""The kernel's own clock is off, as after weeks or a sleep: a new XID is no old one for it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from nodeagent.health.memory import LogMark
from nodeagent.health.observations import CaughtUp, Told, XidOfGpu
from nodeagent.health.sources.kernel_log import KernelLog
from tests.healthwatch import AMPLE_S

NOW_S = 500_000.0
"""By the clock that readings and resets are dated by: an hour more than by the kernel's."""
KERNELS_S = NOW_S - 3600.0


def record(sequence: int, xid: int) -> bytes:
    at = int(KERNELS_S * 1_000_000)
    return f"4,{sequence},{at},-;NVRM: Xid (PCI:0000:02:00): {xid}, by hand\n".encode()


async def test_what_comes_while_it_is_listened_to_has_the_time_of_that(tmp_path: Path) -> None:
    path = tmp_path / "kmsg"
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR)
    os.write(writer, record(1, 46))
    told: list[Told] = []
    log = KernelLog(path, LogMark, lambda _: None, lambda: "this boot", clock=lambda: NOW_S)
    watching = asyncio.create_task(log.watch(told.append))

    async def until(there: int) -> None:
        async with asyncio.timeout(AMPLE_S):
            while len(told) < there:  # noqa: ASYNC110 - what is awaited has no other end
                await asyncio.sleep(0.001)

    await until(2)
    os.write(writer, record(2, 119))
    await until(3)
    watching.cancel()
    os.close(writer)
    before, caught_up, live = told
    assert isinstance(caught_up, CaughtUp)
    assert isinstance(before, XidOfGpu)
    assert isinstance(live, XidOfGpu)
    assert (before.seen.xid, before.seen.at_s) == (46, KERNELS_S)
    assert (live.seen.xid, live.seen.at_s) == (119, NOW_S)
