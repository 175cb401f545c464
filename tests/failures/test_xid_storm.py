"""A driver reports an XID hundreds of times, each in other words: that is told and written once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gpupods.identity import GpuUuid
from nodeagent.health.memory import Memory
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.observations import XidOfGpu, XidSeen
from nodeagent.health.state import StateFolder
from tests.reportbed import WELL, NodeClock, bed, listed, reporting

TIMES = 50


def xid_119(number: int, at_s: float) -> XidOfGpu:
    detail = f"Timeout after 6s of waiting for RPC response, sequence {number}"
    return XidOfGpu(GpuUuid(""), "0000:02:00", XidSeen(119, at_s, "kernel log", detail))


async def test_the_node_is_patched_once() -> None:
    async with bed() as there, reporting(there) as agent:
        agent.read()
        for number in range(TIMES):
            there.clock.advance(0.1)
            agent.monitor.tell(xid_119(number, there.clock.boot_s))
            await asyncio.sleep(0.005)
        await there.until_ids("1")
        await there.settled()
        assert there.patches == 1
        assert "sequence 0" in there.annotations["gpupods.io/gpu-health"]


class CountedDisk(StateFolder):
    """A folder that counts how often it is written."""

    writes = 0

    def save(self, memory: Memory) -> str:
        self.writes += 1
        return super().save(memory)


async def test_the_disk_is_not_written_for_each(tmp_path: Path) -> None:
    clock, disk = NodeClock(), CountedDisk(tmp_path)
    monitor = HealthMonitor(now=clock, folder=disk)
    await monitor.start()
    monitor.tell(listed(WELL, WELL))
    for number in range(TIMES):
        clock.advance(0.1)
        monitor.tell(xid_119(number, clock.boot_s))
        await asyncio.sleep(0.005)
    await monitor.stop()
    assert disk.writes <= 3
    found = StateFolder(tmp_path).load().memory
    assert found is not None
    (fault,) = found.gpus[1].state.faults
    assert fault.last_s == clock.boot_s, "the last one is in it"
