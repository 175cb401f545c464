"""Against the same files of /proc that the container reader is held to."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodeagent.diagnosis.layout import Driver, Layout, Version, layout_of, version_of

GOLDEN = Path(__file__).parents[3] / "golden" / "proc"


@pytest.mark.parametrize(
    ("shape", "version", "driver"),
    [
        ("v1-cgroupfs-burstable", Version.V1, Driver.CGROUPFS),
        ("v1-cgroupfs-guaranteed", Version.V1, Driver.CGROUPFS),
        ("v1-systemd-burstable", Version.V1, Driver.SYSTEMD),
        ("v1-systemd-crio", Version.V1, Driver.SYSTEMD),
        ("v1-drivers-disagree", Version.V1, Driver.DISAGREEING),
        ("v2-cgroupfs-burstable", Version.V2, Driver.CGROUPFS),
        ("v2-cgroupfs-crio", Version.V2, Driver.CGROUPFS),
        ("v2-systemd-besteffort", Version.V2, Driver.SYSTEMD),
        ("v2-systemd-guaranteed", Version.V2, Driver.SYSTEMD),
        ("v2-systemd-crio-crun", Version.V2, Driver.SYSTEMD),
        ("v2-systemd-docker", Version.V2, Driver.SYSTEMD),
        ("v2-drivers-disagree", Version.V2, Driver.DISAGREEING),
        ("hybrid-v2-tree-used", Version.HYBRID, Driver.CGROUPFS),
        ("hybrid-v2-tree-unused", Version.HYBRID, Driver.CGROUPFS),
        ("static-pod-systemd", Version.V2, Driver.SYSTEMD),
        ("cgroup-root-systemd", Version.V2, Driver.SYSTEMD),
        ("private-namespace-itself", Version.V2, Driver.HIDDEN),
    ],
)
def test_a_process_in_a_pod(shape: str, version: Version, driver: Driver) -> None:
    assert layout_of((GOLDEN / shape / "cgroup").read_text()) == Layout(version, driver)


@pytest.mark.parametrize(
    ("shape", "version"),
    [
        ("host-v1-root", Version.V1),
        ("host-v2-init", Version.V2),
        ("hybrid-systemd-tree-only", Version.HYBRID),
        ("empty", Version.UNKNOWN),
    ],
)
def test_any_process_tells_the_version(shape: str, version: Version) -> None:
    assert version_of((GOLDEN / shape / "cgroup").read_text()) is version


def test_what_cannot_be_read_is_unknown() -> None:
    assert version_of(None) is Version.UNKNOWN
    assert layout_of(None) == Layout(Version.UNKNOWN, Driver.HIDDEN)
