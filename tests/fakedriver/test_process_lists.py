"""Process lists and samples on the fake library, with the oddities of old drivers."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakedriver.build import Variant
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.nvml_process import NvmlProcess
from tests.fakedriver.scenario import (
    MIB,
    Gpu,
    Process,
    ProcessKind,
    Scenario,
    UtilizationSample,
)

NOT_IN_MIG = 0xFFFFFFFF
GPU0 = Gpu.number(0).uuid


def change_gpu0(driver: FakeDriver, **to: Any) -> None:
    driver.change(lambda scenario: scenario.with_gpu(GPU0, **to))


def row(pid: int, memory: int | None, gi: int = NOT_IN_MIG, ci: int = NOT_IN_MIG) -> dict[str, Any]:
    return {"pid": pid, "usedGpuMemory": memory, "gpuInstanceId": gi, "computeInstanceId": ci}


@pytest.mark.parametrize("version", ["_v2", "_v3"])
def test_process_lists_overlap_as_their_kinds_do(
    driver: FakeDriver, nvml: NvmlProcess, version: str
) -> None:
    both = ProcessKind.COMPUTE | ProcessKind.GRAPHICS
    processes = (
        Process(11, 10 * MIB),
        Process(12, 20 * MIB, both),
        Process(13, None, ProcessKind.COMPUTE | ProcessKind.MPS),
    )
    change_gpu0(driver, processes=processes)
    compute = [row(11, 10 * MIB), row(12, 20 * MIB), row(13, None)]
    assert nvml.ask(f"n.nvmlDeviceGetComputeRunningProcesses{version}(h0)") == compute
    assert nvml.ask(f"n.nvmlDeviceGetGraphicsRunningProcesses{version}(h0)") == [row(12, 20 * MIB)]
    assert nvml.ask(f"n.nvmlDeviceGetMPSComputeRunningProcesses{version}(h0)") == [row(13, None)]
    assert nvml.ask(f"n.nvmlDeviceGetComputeRunningProcesses{version}(h1)") == []


SIZES = """
import ctypes, pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
call = n._nvmlGetFunctionPointer("nvmlDeviceGetComputeRunningProcesses_v3")
for room in (0, 1, 3):
    count, array = ctypes.c_uint(room), (n.c_nvmlProcessInfo_v3_t * 3)()
    print(call(h, ctypes.byref(count), array if room else None), count.value)
print(call(h, None, None), call(h, ctypes.byref(ctypes.c_uint(3)), None))
"""


def test_process_list_sizes_in_and_out(driver: FakeDriver) -> None:
    change_gpu0(driver, processes=(Process(1), Process(2)))
    output = subprocess.run(
        [sys.executable, "-c", SIZES],
        env=driver.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert output.stdout.split("\n")[:4] == ["7 2", "7 2", "0 2", "2 2"]


def test_process_names_come_from_the_scenario_or_from_proc(
    driver: FakeDriver, nvml: NvmlProcess
) -> None:
    change_gpu0(driver, processes=(Process(4_000_001, name="python train.py"),))
    assert nvml.ask("n.nvmlSystemGetProcessName(4000001)") == "python train.py"
    assert nvml.ask(f"n.nvmlSystemGetProcessName({nvml.process.pid})") == sys.executable
    assert nvml.ask("n.nvmlSystemGetProcessName(4000002)") == "NVMLError_NotFound"


def test_process_utilization_gives_what_is_newer(driver: FakeDriver, nvml: NvmlProcess) -> None:
    samples = (UtilizationSample(5, 1000, sm=40, memory=7), UtilizationSample(6, 2000, sm=4321))
    change_gpu0(driver, samples=samples)
    every = nvml.ask("n.nvmlDeviceGetProcessUtilization(h0, 0)")
    assert [(s["pid"], s["timeStamp"], s["smUtil"], s["memUtil"]) for s in every] == [
        (5, 1000, 40, 7),
        (6, 2000, 4321, 0),
    ]
    assert [s["pid"] for s in nvml.ask("n.nvmlDeviceGetProcessUtilization(h0, 1000)")] == [6]
    assert nvml.ask("n.nvmlDeviceGetProcessUtilization(h0, 2000)") == "NVMLError_NotFound"


def test_a_driver_before_510_lacks_v3(tmp_path: Path) -> None:
    scenario = Scenario((Gpu.number(0, Process(9, MIB)),), driver_version="470.256.02")
    with NvmlProcess(FakeDriver(tmp_path, scenario, variant=Variant.BEFORE_510)) as nvml:
        nvml.ask("h0 := n.nvmlDeviceGetHandleByIndex(0)")
        wanted = "NVMLLibraryMismatchError"
        for kind in ("Compute", "Graphics", "MPSCompute"):
            assert nvml.ask(f"n.nvmlDeviceGet{kind}RunningProcesses(h0)") == wanted
        assert nvml.ask("n.nvmlDeviceGetComputeRunningProcesses_v2(h0)") == [row(9, MIB)]
        question = "n.nvmlDeviceGetMemoryInfo(h0, version=n.nvmlMemory_v2)"
        assert nvml.ask(question) == "NVMLError_FunctionNotFound"


@pytest.mark.parametrize(
    ("version", "is_wrong"),
    [("535.42", False), ("535.43.02", True), ("535.54.03", True), ("535.86.05", False)],
)
def test_drivers_535_43_to_535_86_fill_v3_wrongly(
    driver: FakeDriver, nvml: NvmlProcess, version: str, *, is_wrong: bool
) -> None:
    gpu = Gpu.number(0, Process(21, MIB), Process(22, 2 * MIB), Process(23, 3 * MIB))
    driver.write(Scenario((gpu,), driver_version=version))
    right = [row(21, MIB), row(22, 2 * MIB), row(23, 3 * MIB)]
    assert nvml.ask("n.nvmlDeviceGetComputeRunningProcesses_v2(h0)") == right
    third = nvml.ask("n.nvmlDeviceGetComputeRunningProcesses_v3(h0)")
    assert (third != right) == is_wrong
    assert third[0] == right[0]
    if is_wrong:
        assert third[1] == row(0, 22, 2 * MIB, 0)
