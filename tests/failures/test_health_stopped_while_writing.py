"""The agent is stopped while its state is being written: the file is whole, and has the latest."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from nodeagent.health.memory import Memory
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.state import StateFolder
from tests.reportbed import WELL, NodeClock, listed, xid


class SlowDisk(StateFolder):
    """A folder whose writes wait for ``let_go``, and are counted."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.let_go = threading.Event()
        self.begun = 0
        self.at_once = 0
        self.most_at_once = 0

    def save(self, memory: Memory) -> str:
        self.begun += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.let_go.wait(60)
        problem = super().save(memory)
        self.at_once -= 1
        return problem


async def until_begun(disk: SlowDisk, writes: int) -> None:
    async with asyncio.timeout(60):
        while disk.begun < writes:  # noqa: ASYNC110 - in a thread
            await asyncio.sleep(0.002)


async def test_one_write_is_waited_for_before_the_last_one(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path)
    monitor = HealthMonitor(now=NodeClock(), folder=disk)
    await monitor.start()
    monitor.tell(listed(WELL, WELL))
    await until_begun(disk, 1)
    monitor.tell(xid(142, 1, 1000.0))
    stopping = asyncio.create_task(monitor.stop())
    await asyncio.sleep(0.05)
    disk.let_go.set()
    await stopping
    assert disk.most_at_once == 1
    found = StateFolder(tmp_path).load()
    assert found.problem == ""
    assert found.memory is not None
    assert [len(known.state.faults) for known in found.memory.gpus] == [0, 1]


async def test_an_agent_that_is_stopped_while_it_takes_over_writes_over_nothing(
    tmp_path: Path,
) -> None:
    """It has the folder at last, and has not read yet what the other one knew."""
    first = HealthMonitor(now=NodeClock(), folder=StateFolder(tmp_path))
    await first.start()
    first.tell(listed(WELL, WELL))
    first.tell(xid(142, 1, 1000.0))
    disk = StateFolder(tmp_path)
    second = HealthMonitor(now=NodeClock(), folder=disk)
    await second.start()
    second.tell(listed(WELL, WELL))
    await first.stop()
    before = (tmp_path / "health.json").read_bytes()
    taking = asyncio.create_task(second._keeper._take_over(disk))
    await asyncio.sleep(0)  # the thread is on its way
    taking.cancel()
    await second.stop()
    assert (tmp_path / "health.json").read_bytes() == before
