"""Where planned processes go: the emptiest GPUs of a node, and no more memory than is there."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from gpupods.identity import GpuUuid
from nodeagent.gpus.sample import ProcessType
from simulator.model import MIB, SimGpu, SimNode
from simulator.plans import UsePlan

COMPUTE = (ProcessType.COMPUTE,)
SPARE = 0.9
"""Of the memory that is left, what one process may take at most."""


@dataclass
class Placing:
    """Remembers what has been planned on every GPU and MIG device."""

    source: random.Random
    _taken: dict[tuple[GpuUuid, int | None], int] = field(default_factory=dict)
    _count: dict[GpuUuid, int] = field(default_factory=dict)

    def pick(self, node: SimNode, count: int) -> list[int]:
        """The indexes of the ``count`` GPUs with the fewest processes; fewer if there are fewer."""
        order = sorted(node.gpus, key=lambda gpu: (self._count.get(gpu.uuid, 0), gpu.index))
        return sorted(gpu.index for gpu in order[:count])

    def use(
        self,
        node: SimNode,
        index: int,
        memory_mib: int | None,
        busy: int = 0,
        types: tuple[ProcessType, ...] = COMPUTE,
    ) -> UsePlan:
        """A hold on GPU ``index``, of ``memory_mib`` or what fits, keeping it ``busy`` percent.

        On a split GPU it is on the next of its MIG devices in turn.
        """
        gpu = node.gpus[index]
        count = self._count.get(gpu.uuid, 0)
        self._count[gpu.uuid] = count + 1
        mig = count % len(gpu.mig_devices) if gpu.mig_devices else None
        if gpu.utilization_percent is not None:
            gpu.utilization_percent = max(gpu.utilization_percent, busy)
        if memory_mib is not None:
            memory_mib = self._fitting(gpu, mig, memory_mib)
        return UsePlan(index, memory_mib, types, mig)

    def _fitting(self, gpu: SimGpu, mig: int | None, wanted_mib: int) -> int:
        parts = max(1, len(gpu.mig_devices))
        total = (gpu.memory_total_bytes - gpu.reserved_bytes) // MIB // parts
        taken = self._taken.get((gpu.uuid, mig), 0)
        fitting = min(self._about(wanted_mib), int((total - taken) * SPARE))
        self._taken[gpu.uuid, mig] = taken + fitting
        return fitting

    def _about(self, wanted_mib: int) -> int:
        """Nearly ``wanted_mib``: no two processes hold quite the same."""
        return int(wanted_mib * self.source.uniform(0.93, 1.0)) // 2 * 2
