"""The GPU driver of a simulated node: the twin of `nodeagent.gpus.driver`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gpupods.identity import GpuUuid
from nodeagent.gpus.known import KnownGpus
from nodeagent.gpus.sample import (
    Gpu,
    GpuProcess,
    GpuSample,
    GpuSource,
    Missing,
    MissingKind,
    Moment,
)
from simulator.kinds import DriverFault
from simulator.model import SimGpu, SimNode, WallSeconds

POLL_S = 0.01
"""How soon a call that hangs notices that the fault was taken away."""


class SimulatedGpus(GpuSource):
    """Answers for the GPUs of ``node`` by ``clock`` (seconds since the epoch).

    ``after_sample``, if set, is called when a sample has been taken and before it is handed
    over: what changes there has changed between the driver's answer and whatever is read next.
    A call that takes longer than ``call_limit_s`` is given up, as the real source does.
    """

    def __init__(
        self, node: SimNode, clock: Callable[[], float], *, call_limit_s: float = 2.0
    ) -> None:
        self._node = node
        self._call_limit_s = call_limit_s
        self._clock = clock
        self._known = KnownGpus()
        self.after_sample: Callable[[], None] | None = None
        self.samples_taken = 0

    async def sample(self, deadline_s: float) -> GpuSample:
        """The state of the node's GPUs now; what a fault hides is in ``missing``."""
        problem = await self._await_driver(min(deadline_s, self._call_limit_s))
        if problem is not None:
            why = Missing(MissingKind.DRIVER, "", problem)
            return GpuSample(None, self._known.last_seen(), (why,))
        taken = self._moment()
        gpus = _gpus(self._node)
        missing = tuple(_lost(gpu) for gpu in self._node.gpus if gpu.lost)
        self.samples_taken += 1
        if self.after_sample is not None:
            self.after_sample()
        return self._known.recognise(GpuSample(taken, gpus, missing))

    async def close(self) -> None:
        """Nothing is held."""

    def _moment(self) -> Moment:
        wall = WallSeconds(self._clock())
        return Moment(wall, self._node.uptime_s(wall))

    async def _await_driver(self, deadline_s: float) -> str | None:
        """Wait as the fault demands, then say what is wrong with the driver, if anything."""
        node = self._node
        loop = asyncio.get_running_loop()
        deadline = loop.time() + deadline_s
        if node.driver_delay_s:
            await asyncio.sleep(min(node.driver_delay_s, deadline_s))
            if node.driver_delay_s >= deadline_s:
                return f"the NVIDIA driver did not respond within {deadline_s:g} s"
        while node.driver_fault is DriverFault.HANGS:
            if loop.time() >= deadline:
                return f"the NVIDIA driver did not respond within {deadline_s:g} s"
            await asyncio.sleep(min(POLL_S, deadline_s))
        if node.driver_fault is DriverFault.NOT_LOADED:
            return "the NVIDIA driver is not loaded (simulated)"
        if not node.gpus:
            return "this node has no NVIDIA driver: libnvidia-ml.so.1 was not found (simulated)"
        return None


def _gpu(gpu: SimGpu, processes: tuple[GpuProcess, ...]) -> Gpu:
    held = sum(process.used_memory_bytes or 0 for process in processes)
    return Gpu(
        index=gpu.index,
        uuid=gpu.uuid,
        name=gpu.name,
        pci_address=gpu.pci_address,
        memory_total_bytes=None if gpu.lost else gpu.memory_total_bytes,
        memory_used_bytes=None if gpu.lost else gpu.reserved_bytes + held,
        utilization_percent=None if gpu.lost else gpu.utilization_percent,
        mig_mode=gpu.mig_mode,
        processes=() if gpu.lost else processes,
        processes_whole=not gpu.lost,
    )


def _gpus(node: SimNode) -> tuple[Gpu, ...]:
    by_gpu: dict[GpuUuid, list[GpuProcess]] = {gpu.uuid: [] for gpu in node.gpus}
    for process in node.processes.values():
        for use in process.uses:
            by_gpu[use.gpu].append(GpuProcess(process.pid, use.types, use.memory_bytes, use.mig))
    return tuple(_gpu(gpu, tuple(by_gpu[gpu.uuid])) for gpu in node.gpus)


def _lost(gpu: SimGpu) -> Missing:
    return Missing(
        MissingKind.GPU,
        gpu.uuid,
        f"GPU {gpu.index} at {gpu.pci_address} is lost: it has fallen off the bus (simulated)",
    )
