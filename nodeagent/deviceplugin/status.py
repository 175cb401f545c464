"""How the device plugin fares, as values: for the doctor and for metrics. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MOST_SHOWN = 65_536
"""Devices of one pod. Kubelets since 1.36 list each in the pod's status, and an API server takes
3 MiB of that: with some more than these, the pod's status is never written again."""


@dataclass(frozen=True, slots=True)
class ResourceStatus:
    """One resource.

    Attributes:
        registered: Whether the kubelet has taken it, and follows the list of devices.
        registrations: How often it has.
        devices: In the list, the unhealthy ones too.
        unhealthy: Of these.
        problem: Why it is not registered; "" where that is not known to be a problem.
    """

    resource: str
    registered: bool
    registrations: int
    devices: int
    unhealthy: int
    problem: str


@dataclass(slots=True)
class Requests:
    """What has become of the kubelet's requests.

    Attributes:
        answered: Containers that were given what they asked for.
        refused: Those that were not, or that were kept from starting.
        exchanged: Pods that had each other's GPUs, and say so now.
        last_refusal: Why.
    """

    answered: int = 0
    refused: int = 0
    exchanged: int = 0
    last_refusal: str = ""


@dataclass(frozen=True, slots=True)
class DevicePluginStatus:
    """All of it, as of now.

    Attributes:
        requests: As they are counted: not a copy.
        marks_late: Pods that have their GPUs, and that could not be marked yet.
        can_check: Whether the kubelet can be asked whose devices are whose.
        most_devices: Of one GPU.
        problem: Why the kubelet is told of less than there is; "" where it is not.
    """

    resources: tuple[ResourceStatus, ...]
    requests: Requests
    marks_late: int
    can_check: bool
    most_devices: int
    problem: str


class Offering(Protocol):
    """What offers a node's GPUs to its kubelet."""

    @property
    def status(self) -> DevicePluginStatus:
        """How it fares now."""
        ...


def too_many_to_be_shown(devices: int) -> str:
    """What comes of a GPU with that many devices, for people."""
    return (
        f"a pod that asks for a whole GPU has {devices} devices, and where the kubelet is 1.36 or "
        f"newer, one with more than about {MOST_SHOWN} is never shown to run"
    )
