"""The process that watches the driver dies, and the kernel holds it in the driver: that is told."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from nodeagent.gpus.progress import Progress, new_file
from nodeagent.health.observations import DriverSilent, Presence, Told
from nodeagent.health.sources import nvml_child
from nodeagent.health.sources.nvml_child import Child
from nodeagent.health.sources.nvml_watch import NvmlWatch
from tests.healthwatch import AMPLE_S


class HeldProcess:
    """Its pipe is closed, and no signal ends it, as in an uninterruptible sleep."""

    pid = 0
    returncode = None

    def __init__(self) -> None:
        self.stdout = asyncio.StreamReader()
        self.stdout.feed_eof()
        self.killed = 0

    def kill(self) -> None:
        self.killed += 1

    async def wait(self) -> int:
        await asyncio.Event().wait()
        return 0


async def test_the_driver_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml_child, "CLOSING_S", 0.01)
    process = HeldProcess()
    progress = Progress(new_file())
    progress.note("nvmlShutdown")
    told: list[Told] = []
    watch = NvmlWatch()
    async with asyncio.timeout(AMPLE_S):
        await watch._listen(Child(cast("Any", process), progress), told.append)
    assert told == [
        DriverSilent(
            Presence.DRIVER_HANGS,
            "the process that watches the driver does not end, held in nvmlShutdown",
        )
    ]
    assert process.killed
    for reaping in watch._ending:
        reaping.cancel()
