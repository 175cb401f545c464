"""What is to be noticed of a simulated node's GPUs: the twin of `nodeagent.health.sources`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gpupods.identity import GpuUuid
from nodeagent.health.condition import Now
from nodeagent.health.observations import (
    DriverRead,
    DriverSilent,
    HealthSource,
    ListedGpu,
    Presence,
    Reading,
    Tell,
    XidOfGpu,
    XidSeen,
)
from simulator.kinds import DriverFault
from simulator.model import SimGpu, SimNode, SimXid, WallSeconds

INTERVAL_S = 5.0
RARELY_S = 30.0
"""While nothing happens: thousands of nodes share one process, and a change is noticed at once."""
QUIET_AFTER_S = 600.0


class SimulatedHealth(HealthSource):
    """Tells of the GPUs of ``node``: at each change, and from time to time.

    What is in the node's kernel log when `watch` begins is told, too, as the real log would.
    """

    def __init__(
        self,
        node: SimNode,
        *,
        interval_s: float = INTERVAL_S,
        rarely_s: float = RARELY_S,
    ) -> None:
        self._node = node
        self._interval_s = interval_s
        self._rarely_s = max(rarely_s, interval_s)
        self._boot_id = node.boot_id
        self._heard = 0
        self._resets: dict[GpuUuid, int] = {}

    async def watch(self, tell: Tell) -> None:
        """See `HealthSource.watch`."""
        loop = asyncio.get_running_loop()
        disturbed = asyncio.Event()

        def disturb() -> None:
            loop.call_soon_threadsafe(disturbed.set)

        self._node.watchers.append(disturb)
        self._heard = 0
        source = "kernel log"
        quiet_at = 0.0
        try:
            while True:
                disturbed.clear()
                well = self._look(tell, source) and loop.time() > quiet_at
                source = "nvml"
                try:
                    async with asyncio.timeout(self._rarely_s if well else self._interval_s):
                        await disturbed.wait()
                        quiet_at = loop.time() + QUIET_AFTER_S
                except TimeoutError:
                    continue
        finally:
            self._node.watchers.remove(disturb)

    def _look(self, tell: Tell, source: str) -> bool:
        """Tell what there is. Whether all is well."""
        node = self._node
        if node.driver_fault is DriverFault.HANGS:
            tell(DriverSilent(Presence.DRIVER_HANGS, "it has not answered (simulated)"))
            return False
        if node.driver_fault is DriverFault.NOT_LOADED:
            reason = "the NVIDIA driver is not loaded (simulated)"
            tell(DriverSilent(Presence.DRIVER_NOT_LOADED, reason))
            return False
        if not node.gpus:
            return True
        self._show_resets(tell)
        tell(DriverRead(tuple(map(_listed, node.gpus))))
        if node.boot_id != self._boot_id:  # it was restarted, and its log is another one
            self._boot_id, self._heard = node.boot_id, 0
        for xid in node.kernel_log[self._heard :]:
            self._tell_xid(tell, xid, source)
        self._heard = len(node.kernel_log)
        return all(_is_well(gpu) for gpu in node.gpus)

    def _show_resets(self, tell: Tell) -> None:
        """A GPU that was reset, and one whose board was replaced, was away for a moment."""
        before = self._resets
        self._resets = {gpu.uuid: gpu.resets for gpu in self._node.gpus}
        away = {uuid for uuid, count in self._resets.items() if count > before.get(uuid, count)}
        if before:
            away |= self._resets.keys() - before.keys()
        if away:
            tell(DriverRead(tuple(_listed(g) for g in self._node.gpus if g.uuid not in away)))

    def _tell_xid(self, tell: Tell, xid: SimXid, source: str) -> None:
        at_s = self._node.uptime_s(xid.at)
        seen = XidSeen(xid.xid, at_s, source, "simulated")
        tell(XidOfGpu(GpuUuid(""), xid.pci_address, seen))


def node_clock(node: SimNode, clock: Callable[[], float]) -> Callable[[], Now]:
    """The clocks of ``node``, by the cluster's ``clock`` (seconds since the epoch)."""

    def now() -> Now:
        wall = WallSeconds(clock())
        return Now(node.boot_id, node.uptime_s(wall), wall + node.clock_ahead_s)

    return now


def _is_well(gpu: SimGpu) -> bool:
    return not (gpu.lost or gpu.remap_failure or gpu.recovery_action)


def _listed(gpu: SimGpu) -> ListedGpu:
    if gpu.lost:
        reading = Reading(Presence.LOST, detail="simulated")
    else:
        reading = Reading(
            Presence.PRESENT,
            recovery_action=gpu.recovery_action,
            remap_failure=gpu.remap_failure,
            remap_pending=gpu.remap_pending,
            uncorrectable_errors=gpu.uncorrectable_errors,
        )
    return ListedGpu(gpu.index, gpu.uuid, gpu.pci_address, gpu.name, reading)
