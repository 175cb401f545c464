"""The PCI bus of a simulated node: the twin of `nodeagent.diagnosis.pci`."""

from __future__ import annotations

from nodeagent.diagnosis.pci import GpuBus
from simulator.model import SimNode


class SimulatedPciBus(GpuBus):
    """Shows the GPUs of ``node``. One that has fallen off is not on it."""

    def __init__(self, node: SimNode) -> None:
        self._node = node

    def nvidia_gpus(self) -> int | None:
        """How many there are."""
        return sum(not gpu.lost for gpu in self._node.gpus)
