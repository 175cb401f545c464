"""A board is dead after a restart, and those behind it get other PCI addresses.

The kernel's log names GPUs by address and is read before the driver has listed them: what an
address stood for before the restart must not be believed.
"""

from __future__ import annotations

from pathlib import Path

from gpupods.identity import GpuUuid
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.observations import DriverRead, ListedGpu, XidOfGpu, XidSeen
from nodeagent.health.state import StateFolder
from tests.healthwatch import unfit
from tests.reportbed import WELL, NodeClock


def listed(**addresses: str) -> DriverRead:
    return DriverRead(
        tuple(
            ListedGpu(index, GpuUuid(uuid), f"00000000:{bus}:00.0", "RTX 4090", WELL)
            for index, (uuid, bus) in enumerate(addresses.items())
        )
    )


def xid_at(bus: str, at_s: float) -> XidOfGpu:
    return XidOfGpu(GpuUuid(""), f"0000:{bus}:00", XidSeen(142, at_s, "kernel log"))


async def seen_before(folder: Path, clock: NodeClock) -> HealthMonitor:
    """An agent that starts with what an earlier one knew of three GPUs."""
    first = HealthMonitor(now=clock, folder=StateFolder(folder))
    await first.start()
    first.tell(listed(A="01", B="02", C="03"))
    await first.stop()
    return HealthMonitor(now=clock, folder=StateFolder(folder))


async def test_an_xid_of_the_new_boot_waits_for_the_new_addresses(tmp_path: Path) -> None:
    clock = NodeClock()
    monitor = await seen_before(tmp_path, clock)
    clock.boot, clock.boot_s = "boot-2", 20.0
    await monitor.start()
    monitor.tell(xid_at("01", 10.0))
    monitor.note_kernel_log(5)
    assert unfit(monitor.verdicts) == []
    assert monitor.kernel_log_mark.sequence == -1, "it must be told again after a restart"
    monitor.tell(listed(B="01", C="02"))
    assert unfit(monitor.verdicts) == [0, 1], "A is missing, and the XID was B's"
    assert [verdict.xid for verdict in monitor.verdicts] == [None, 142, None]
    assert monitor.kernel_log_mark.sequence == 5
    await monitor.stop()


async def test_one_of_a_gpu_that_the_driver_does_not_list_is_its_own(tmp_path: Path) -> None:
    clock = NodeClock()
    monitor = await seen_before(tmp_path, clock)
    clock.boot, clock.boot_s = "boot-2", 20.0
    await monitor.start()
    monitor.tell(xid_at("03", 10.0))
    monitor.tell(listed(A="01", B="02"))
    assert [verdict.xid for verdict in monitor.verdicts] == [None, None, 142]
    await monitor.stop()


async def test_within_a_boot_the_addresses_are_as_they_were(tmp_path: Path) -> None:
    clock = NodeClock()
    monitor = await seen_before(tmp_path, clock)
    await monitor.start()
    monitor.tell(xid_at("02", clock.boot_s))
    assert unfit(monitor.verdicts) == [1], "an agent that starts again does not wait"
    await monitor.stop()
