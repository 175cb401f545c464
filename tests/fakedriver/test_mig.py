"""MIG on the fake library: the walk to the MIG devices, and what is listed where."""

import dataclasses

import pytest

from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.nvml_process import NvmlProcess
from tests.fakedriver.scenario import GIB, MIB, Gpu, MigInstance, Process, Scenario

GPU0 = Gpu.number(0).uuid
SMALL = MigInstance(
    uuid="MIG-8c4c5a27-e508-5556-b2ea-7e549465741e",
    index=0,
    gpu_instance=7,
    name="NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    memory_total=5 * GIB,
    memory_used=GIB,
    processes=(Process(31, 100 * MIB),),
)
LARGE = MigInstance(
    uuid="MIG-1d89abd8-d10a-5361-bd06-77a807048472",
    index=3,
    gpu_instance=2,
    compute_instance=1,
    processes=(Process(32, 200 * MIB), Process(33, None)),
)


@pytest.fixture
def mig(driver: FakeDriver, nvml: NvmlProcess) -> NvmlProcess:
    driver.write(Scenario((Gpu.number(0, mig=True, mig_instances=(SMALL, LARGE)), Gpu.number(1))))
    nvml.ask("small := n.nvmlDeviceGetMigDeviceHandleByIndex(h0, 0)")
    nvml.ask("large := n.nvmlDeviceGetMigDeviceHandleByIndex(h0, 3)")
    return nvml


def pids(nvml: NvmlProcess, handle: str) -> list[tuple[int, int, int]]:
    rows = nvml.ask(f"n.nvmlDeviceGetComputeRunningProcesses({handle})")
    return [(row["pid"], row["gpuInstanceId"], row["computeInstanceId"]) for row in rows]


def test_the_walk_from_a_gpu_to_its_mig_devices(mig: NvmlProcess) -> None:
    assert mig.ask("n.nvmlDeviceGetMigMode(h0)") == [1, 1]
    assert mig.ask("n.nvmlDeviceGetMigMode(h1)") == [0, 0]
    assert mig.ask("n.nvmlDeviceGetMaxMigDeviceCount(h0)") == 7
    assert mig.ask("n.nvmlDeviceGetMaxMigDeviceCount(h1)") == 0
    assert mig.ask("n.nvmlDeviceGetMigDeviceHandleByIndex(h0, 1)") == "NVMLError_NotFound"
    assert mig.ask("n.nvmlDeviceGetMigDeviceHandleByIndex(h0, 7)") == "NVMLError_InvalidArgument"
    assert mig.ask("n.nvmlDeviceGetMigDeviceHandleByIndex(h1, 0)") == "NVMLError_NotFound"


def test_identity_of_a_mig_device(mig: NvmlProcess) -> None:
    assert mig.ask("n.nvmlDeviceGetUUID(small)") == SMALL.uuid
    assert mig.ask("n.nvmlDeviceGetName(small)") == "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
    assert mig.ask("n.nvmlDeviceIsMigDeviceHandle(small)") == 1
    assert mig.ask("n.nvmlDeviceIsMigDeviceHandle(h0)") == 0
    assert mig.ask("n.nvmlDeviceGetGpuInstanceId(large)") == 2
    assert mig.ask("n.nvmlDeviceGetComputeInstanceId(large)") == 1
    assert mig.ask("n.nvmlDeviceGetGpuInstanceId(h0)") == "NVMLError_NotSupported"
    assert mig.ask("n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(large)") == mig.ask("h0")
    memory = mig.ask("n.nvmlDeviceGetMemoryInfo(small)")
    assert memory == {"total": 5 * GIB, "used": GIB, "free": 4 * GIB}


def test_handles_by_both_spellings_of_a_mig_uuid(mig: NvmlProcess) -> None:
    assert mig.ask(f"n.nvmlDeviceGetHandleByUUID('{LARGE.uuid}')") == mig.ask("large")
    assert mig.ask(f"n.nvmlDeviceGetHandleByUUID('MIG-{GPU0}/2/1')") == mig.ask("large")
    assert mig.ask(f"n.nvmlDeviceGetHandleByUUID('MIG-{GPU0}/2/0')") == "NVMLError_NotFound"


def test_processes_at_the_mig_device_and_added_up_at_the_gpu(
    driver: FakeDriver, mig: NvmlProcess
) -> None:
    assert pids(mig, "small") == [(31, 7, 0)]
    assert pids(mig, "large") == [(32, 2, 1), (33, 2, 1)]
    assert pids(mig, "h0") == [(31, 7, 0), (32, 2, 1), (33, 2, 1)]
    driver.change(lambda scenario: scenario.with_gpu(GPU0, mig_aggregate=False))
    assert pids(mig, "h0") == []
    assert pids(mig, "small") == [(31, 7, 0)]


def test_what_mig_does_not_support(mig: NvmlProcess) -> None:
    for question in (
        "n.nvmlDeviceGetUtilizationRates(h0)",
        "n.nvmlDeviceGetUtilizationRates(small)",
        "n.nvmlDeviceGetProcessUtilization(h0, 0)",
        "n.nvmlDeviceGetProcessUtilization(small, 0)",
        "n.nvmlDeviceGetRemappedRows(h0)",
    ):
        assert mig.ask(question) == "NVMLError_NotSupported", question


def test_a_destroyed_mig_device_leaves_an_invalid_handle(
    driver: FakeDriver, mig: NvmlProcess
) -> None:
    only_large = dataclasses.replace(driver.scenario.gpu(GPU0), mig_instances=(LARGE,))
    driver.change(lambda scenario: scenario.with_gpu(GPU0, lambda _: only_large))
    assert mig.ask("n.nvmlDeviceGetUUID(small)") == "NVMLError_InvalidArgument"
    assert mig.ask("n.nvmlDeviceGetUUID(large)") == LARGE.uuid
