"""The node's PCI bus, as /sys shows it: whether there are NVIDIA GPUs, driver or not."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

NVIDIA = "0x10de"
DISPLAY = "0x03"
"""What the class of a display or 3D controller begins with."""


class GpuBus(Protocol):
    """Something that can be looked over for GPUs without asking their driver."""

    def nvidia_gpus(self) -> int | None:
        """How many there are; None if that cannot be told."""
        ...


class PciBus:
    """The bus below ``root``. Virtual GPUs are on it too; those of Tegra boards are not."""

    def __init__(self, root: Path = Path("/sys/bus/pci/devices")) -> None:
        self._root = root

    def nvidia_gpus(self) -> int | None:
        """How many NVIDIA GPUs are on the bus; None if it cannot be read."""
        try:
            devices = list(self._root.iterdir())
        except OSError:
            return None
        return sum(map(_is_nvidia_gpu, devices))


def _is_nvidia_gpu(device: Path) -> bool:
    try:
        vendor = (device / "vendor").read_text().strip()
        return vendor == NVIDIA and (device / "class").read_text().startswith(DISPLAY)
    except OSError:
        return False  # it has just gone
