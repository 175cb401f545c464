"""How a node lays out its pods' cgroups, told from what /proc says of a process in one. Pure."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from nodeagent.containers.cgroup import read_cgroup

_UNIFIED = re.compile(r"^0::", re.MULTILINE)
_V1_CONTROLLER = re.compile(r"^[1-9]\d*:", re.MULTILINE)
_SLICES = re.compile(r"/(?:[^/]+-)?kubepods(?:-[^/]*)?\.slice/.*\.scope")
_DISAGREEING = re.compile(r"\.slice:[^/:]+:")


class Version(enum.Enum):
    """Of the cgroup trees; the values are for people."""

    V1 = "v1"
    HYBRID = "v1, with the v2 tree beside it"
    V2 = "v2"
    UNKNOWN = "of unknown version"


class Driver(enum.Enum):
    """Who makes the cgroups of pods and containers; the values are for people."""

    SYSTEMD = "the systemd driver"
    CGROUPFS = "the cgroupfs driver"
    DISAGREEING = "the systemd driver in the kubelet and cgroupfs in the runtime"
    HIDDEN = "a driver that a private cgroup namespace hides"


@dataclass(frozen=True, slots=True)
class Layout:
    """What one process's cgroup file tells."""

    version: Version
    driver: Driver


def version_of(text: str | None) -> Version:
    """The version, from the cgroup file of any process."""
    v1, v2 = _V1_CONTROLLER.search(text or ""), _UNIFIED.search(text or "")
    if v1:
        return Version.HYBRID if v2 else Version.V1
    return Version.V2 if v2 else Version.UNKNOWN


def layout_of(text: str | None) -> Layout:
    """Version and driver, from the cgroup file of a process in a pod's container."""
    path = read_cgroup(text).path
    if not read_cgroup(text).candidates:
        driver = Driver.HIDDEN
    elif _DISAGREEING.search(path):
        driver = Driver.DISAGREEING
    elif _SLICES.search(path):
        driver = Driver.SYSTEMD
    else:
        driver = Driver.CGROUPFS
    return Layout(version_of(text), driver)
