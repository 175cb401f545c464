"""How a node's GPUs are offered to the kubelet: what the settings choose. Pure, and light."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

LONGEST_FOLDER = 107 - len("/gpupods-gpu-memory-01234567.sock")
"""Bytes that the path of the sockets' folder may have: Linux takes 107 for a socket's."""

MOST_UNIT_MIB = 65536


class DevicePluginMode(StrEnum):
    """What pods can ask this node for."""

    OFF = "off"
    SHARE = "volcano-share"
    """Units of memory of one GPU, or whole GPUs."""
    NUMBER = "volcano-number"
    """Whole GPUs alone."""


class HealthReport(StrEnum):
    """Who is told of an unfit GPU."""

    AUTO = "auto"
    """annotation where GPUs are shared, kubelet where whole ones are given."""
    ANNOTATION = "annotation"
    """Its devices stay healthy; the Node's annotation has the news."""
    KUBELET = "kubelet"
    """Its devices are unhealthy too: in the node's capacity, and not in what is allocatable."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How the node's GPUs are offered."""

    mode: DevicePluginMode
    health: HealthReport
    unit_mib: int

    @property
    def kubelet_is_told(self) -> bool:
        """Whether an unfit GPU's devices are unhealthy."""
        if self.health is HealthReport.AUTO:
            return self.mode is DevicePluginMode.NUMBER
        return self.health is HealthReport.KUBELET
