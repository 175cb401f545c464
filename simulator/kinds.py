"""What kinds of things a simulated cluster has, and in which states they and their edges are."""

from __future__ import annotations

import enum


class CgroupShape(enum.Enum):
    """How a node's kubelet and runtime lay out cgroups, and how /proc shows them."""

    CGROUPFS_V1 = "cgroupfs, v1"
    CGROUPFS_HYBRID = "cgroupfs, v1 with the v2 tree beside it"
    CGROUPFS_V2 = "cgroupfs, v2"
    SYSTEMD_V2 = "systemd, v2"
    DISAGREEING_V2 = "systemd kubelet with a cgroupfs runtime, v2"


class Qos(enum.Enum):
    """A pod's quality of service, as status.qosClass has it."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


class ContainerKind(enum.Enum):
    """What a container is to its pod."""

    APP = "app"
    INIT = "init"
    SIDECAR = "sidecar"  # an init container with restartPolicy Always
    EPHEMERAL = "ephemeral"
    SANDBOX = "sandbox"
    FOREIGN = "foreign"  # of another runtime on the node; the node's own does not know it
    BARE = "bare"  # the runtime knows it, no pod has it


class ContainerState(enum.Enum):
    """What the kubelet would report."""

    WAITING = "waiting"
    RUNNING = "running"
    TERMINATED = "terminated"


class DriverFault(enum.Enum):
    """What is wrong with the whole driver of a node."""

    NONE = "none"
    HANGS = "hangs"
    NOT_LOADED = "not loaded"


class RuntimeFault(enum.Enum):
    """What is wrong with the container runtime of a node."""

    NONE = "none"
    DOWN = "down"
    HANGS = "hangs"
