from __future__ import annotations

import pytest

from gpupods.diagnosis import Check, Status
from gpupods.identity import GpuUuid
from nodeagent.diagnosis import judge
from nodeagent.diagnosis.layout import Driver, Layout, Version
from nodeagent.gpus.sample import Gpu, GpuSample, MigMode, Missing, MissingKind, Moment

TAKEN = Moment(1_000_000.0, 1000.0)
NO_LIBRARY = "nvmlInit_v2: libnvidia-ml.so.1 cannot be loaded: this node has no NVIDIA driver"


def gpu(index: int) -> Gpu:
    return Gpu(index, GpuUuid(f"GPU-{index}"), "L4", "0:0", None, None, None, MigMode.DISABLED, ())


def sample(gpus: int = 2, *missing: Missing) -> GpuSample:
    return GpuSample(TAKEN, tuple(map(gpu, range(gpus))), missing)


def silent(reason: str) -> GpuSample:
    return GpuSample(None, (), (Missing(MissingKind.DRIVER, "", reason),))


def lost(number: int) -> Missing:
    return Missing(MissingKind.GPU, f"gpu {number}", "the GPU has fallen off the bus")


def assert_is(check: Check | None, status: Status, *words: str) -> None:
    assert check is not None
    assert check.status is status, check
    assert (check.status is Status.OK) == (check.advice == ""), "what is not well has an advice"
    for each in words:
        assert each in f"{check.found} {check.advice}"


def test_a_driver_that_answers() -> None:
    assert_is(judge.driver_check(sample(), 2), Status.OK, "NVML is loaded")


@pytest.mark.parametrize(
    ("reason", "on_the_bus", "status", "words"),
    [
        (NO_LIBRARY, 0, Status.WARNING, "no NVIDIA GPU on the PCI bus"),
        (NO_LIBRARY, 8, Status.FAILED, "runtimeClassName"),
        (NO_LIBRARY, None, Status.FAILED, "install the driver"),
        ("the driver has not answered for 9.0 s", 0, Status.FAILED, "nvidia-smi"),
        ("the library is there and the kernel module is not", 8, Status.FAILED, "nvidia-smi"),
    ],
)
def test_a_driver_that_does_not(
    reason: str, on_the_bus: int | None, status: Status, words: str
) -> None:
    check = judge.driver_check(silent(reason), on_the_bus)
    assert_is(check, status, reason, words)
    assert judge.gpus_check(silent(reason), on_the_bus) is None


def test_gpus() -> None:
    assert_is(judge.gpus_check(sample(1), None), Status.OK, "1 GPU,")
    assert_is(judge.gpus_check(sample(8), 8), Status.OK, "8 GPUs")
    assert_is(judge.gpus_check(sample(0), 0), Status.WARNING, "lists none")
    assert_is(judge.gpus_check(sample(2), 3), Status.WARNING, "lists 2", "has 3", "vfio")
    assert_is(judge.gpus_check(sample(8, lost(7)), 8), Status.FAILED, "gpu 7", "fallen off")


def test_many_lost_gpus_are_not_all_told() -> None:
    check = judge.gpus_check(sample(8, *map(lost, range(5))), 8)
    assert_is(check, Status.FAILED, "gpu 2", "and 2 more")
    assert check is not None
    assert "gpu 3" not in check.found


def test_host_pids() -> None:
    inside = judge.host_pids_check(in_host_namespace=True, seen=0, listed=0)
    assert_is(inside, Status.OK)
    nested = judge.host_pids_check(in_host_namespace=False, seen=3, listed=4)
    assert_is(nested, Status.OK, "3 of the 4")
    apart = judge.host_pids_check(in_host_namespace=False, seen=0, listed=4)
    assert_is(apart, Status.FAILED, "hostPID: true")


def test_the_runtime() -> None:
    assert_is(judge.runtime_check("", 0, ""), Status.OK, "none is to be asked")
    assert_is(judge.runtime_check("containerd at /x", 12, ""), Status.OK, "/x", "12 containers")
    assert_is(judge.runtime_check("containerd at /x", 0, ""), Status.WARNING, "another one")
    gone = judge.runtime_check("containerd at /x", None, "containerd at /x: no such socket")
    assert_is(gone, Status.FAILED, "no such socket", "--runtime-socket")


@pytest.mark.parametrize(
    ("drivers", "status", "words"),
    [
        ([Driver.SYSTEMD], Status.OK, "v2, the systemd driver"),
        ([Driver.CGROUPFS], Status.OK, "v2, the cgroupfs driver"),
        ([Driver.HIDDEN, Driver.SYSTEMD], Status.OK, "v2, the systemd driver"),
        ([Driver.DISAGREEING], Status.WARNING, "SystemdCgroup = true"),
        ([Driver.HIDDEN], Status.WARNING, "hostPID: true"),
    ],
)
def test_cgroups(drivers: list[Driver], status: Status, words: str) -> None:
    layouts = [Layout(Version.V2, driver) for driver in drivers]
    assert_is(judge.cgroups_check(layouts, Version.V2), status, words)


def test_cgroups_where_no_pod_runs() -> None:
    assert_is(judge.cgroups_check([], Version.V1), Status.OK, "v1; no process")
    assert_is(judge.cgroups_check([], Version.UNKNOWN), Status.WARNING, "/proc")
