"""Real nvidia-ml-py on the fake library answers exactly what the scenario says."""

import ctypes
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.fakedriver.build import LIBRARY, SOURCES, Variant, build
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.faults import EventType
from tests.fakedriver.nvml_process import NvmlProcess
from tests.fakedriver.scenario import (
    GIB,
    MIB,
    EccErrors,
    Gpu,
    Process,
    RecoveryAction,
    RemappedRows,
    Scenario,
)

GPU0 = Gpu.number(0).uuid


def change_gpu0(driver: FakeDriver, **to: Any) -> None:
    driver.change(lambda scenario: scenario.with_gpu(GPU0, **to))


def test_the_machine(driver: FakeDriver, nvml: NvmlProcess) -> None:
    assert nvml.ask("n.nvmlSystemGetDriverVersion()") == driver.scenario.driver_version
    assert nvml.ask("n.nvmlSystemGetNVMLVersion()") == driver.scenario.nvml_version
    assert nvml.ask("n.nvmlSystemGetCudaDriverVersion()") == 13000
    assert nvml.ask("n.nvmlSystemGetCudaDriverVersion_v2()") == 13000
    assert nvml.ask("n.nvmlDeviceGetCount()") == 2
    assert nvml.ask("n.nvmlErrorString(15)") == "GPU is lost"


def test_identity(driver: FakeDriver, nvml: NvmlProcess) -> None:
    gpu = Gpu.number(1, name="NVIDIA GeForce RTX 4090", pci="0001:C4:1F.0", serial="77")
    driver.write(Scenario((Gpu.number(0), gpu)))
    assert nvml.ask("n.nvmlDeviceGetUUID(h1)") == gpu.uuid
    assert nvml.ask("n.nvmlDeviceGetName(h1)") == "NVIDIA GeForce RTX 4090"
    assert nvml.ask("n.nvmlDeviceGetIndex(h1)") == 1
    assert nvml.ask("n.nvmlDeviceGetMinorNumber(h1)") == 1
    assert nvml.ask("n.nvmlDeviceGetSerial(h1)") == "77"
    assert nvml.ask("n.nvmlDeviceGetBoardId(h1)") == gpu.board_id
    pci = nvml.ask("n.nvmlDeviceGetPciInfo_v3(h1)")
    assert (pci["domain"], pci["bus"], pci["device"]) == (1, 0xC4, 0x1F)
    assert (pci["busId"], pci["busIdLegacy"]) == ("0001:C4:1F.0", "0001:C4:1F.0")
    assert pci["pciDeviceId"] == gpu.pci_device_id


def test_handles_by_uuid_and_pci_are_the_same_handle(nvml: NvmlProcess) -> None:
    handle = nvml.ask("h0")
    assert nvml.ask(f"n.nvmlDeviceGetHandleByUUID('{GPU0}')") == handle
    for address in ("00000000:10:00.0", "0:10:0.0", "0000:10:00", "10:00.0"):
        assert nvml.ask(f"n.nvmlDeviceGetHandleByPciBusId('{address}')") == handle
    assert nvml.ask("n.nvmlDeviceGetHandleByUUID('GPU-no')") == "NVMLError_NotFound"
    assert nvml.ask("n.nvmlDeviceGetHandleByPciBusId('0:7F:0.0')") == "NVMLError_NotFound"
    assert nvml.ask("n.nvmlDeviceGetHandleByPciBusId('?')") == "NVMLError_InvalidArgument"
    assert nvml.ask("n.nvmlDeviceGetHandleByIndex(2)") == "NVMLError_InvalidArgument"
    assert nvml.ask("n.nvmlDeviceGetUUID(n.c_nvmlDevice_t())") == "NVMLError_InvalidArgument"


def test_memory_counts_the_reserved_as_each_version_does(
    driver: FakeDriver, nvml: NvmlProcess
) -> None:
    change_gpu0(driver, memory_total=24 * GIB, memory_used=5 * GIB, memory_reserved=GIB)
    first = nvml.ask("n.nvmlDeviceGetMemoryInfo(h0)")
    assert first == {"total": 24 * GIB, "used": 6 * GIB, "free": 18 * GIB}
    second = nvml.ask("n.nvmlDeviceGetMemoryInfo(h0, version=n.nvmlMemory_v2)")
    assert (second["used"], second["reserved"], second["free"]) == (5 * GIB, GIB, 18 * GIB)
    assert (
        nvml.ask("n.nvmlDeviceGetMemoryInfo(h0, version=7)") == "NVMLError_ArgumentVersionMismatch"
    )


def test_utilization(driver: FakeDriver, nvml: NvmlProcess) -> None:
    change_gpu0(driver, utilization=37, utilization_memory=11)
    assert nvml.ask("n.nvmlDeviceGetUtilizationRates(h0)") == {"gpu": 37, "memory": 11}
    change_gpu0(driver, utilization=None)
    assert nvml.ask("n.nvmlDeviceGetUtilizationRates(h0)") == "NVMLError_NotSupported"


def test_remapped_rows_ecc_and_recovery_action(driver: FakeDriver, nvml: NvmlProcess) -> None:
    change_gpu0(
        driver,
        remapped_rows=RemappedRows(correctable=1, uncorrectable=2, pending=True, failure=True),
        ecc=EccErrors(3, 4, 5, 6),
        recovery_action=RecoveryAction.DRAIN_AND_RESET,
    )
    assert nvml.ask("n.nvmlDeviceGetRemappedRows(h0)") == [1, 2, 1, 1]
    ecc = [f"n.nvmlDeviceGetTotalEccErrors(h0, {t}, {c})" for c in (0, 1) for t in (0, 1)]
    assert [nvml.ask(question) for question in ecc] == [3, 4, 5, 6]
    action, failure, unknown = nvml.ask("n.nvmlDeviceGetFieldValues(h0, [230, 145, 9])")
    assert (action["nvmlReturn"], action["value"]) == (0, 4)
    assert (failure["nvmlReturn"], failure["value"]) == (0, 1)
    assert unknown["nvmlReturn"] == 3


def test_a_geforce_card_does_not_support_what_it_does_not_have(
    driver: FakeDriver, nvml: NvmlProcess
) -> None:
    change_gpu0(
        driver,
        serial="",
        mig=None,
        ecc=None,
        remapped_rows=None,
        recovery_action=None,
        board_id=None,
        event_types=EventType.PSTATE,
    )
    for question in (
        "n.nvmlDeviceGetSerial(h0)",
        "n.nvmlDeviceGetBoardId(h0)",
        "n.nvmlDeviceGetMigMode(h0)",
        "n.nvmlDeviceGetMigDeviceHandleByIndex(h0, 0)",
        "n.nvmlDeviceGetTotalEccErrors(h0, 0, 0)",
        "n.nvmlDeviceGetRemappedRows(h0)",
        "n.nvmlDeviceRegisterEvents(h0, n.nvmlEventTypeXidCriticalError, n.nvmlEventSetCreate())",
    ):
        assert nvml.ask(question) == "NVMLError_NotSupported", question
    assert nvml.ask("n.nvmlDeviceGetMaxMigDeviceCount(h0)") == 0
    assert nvml.ask("n.nvmlDeviceGetFieldValues(h0, [230])[0].nvmlReturn") == 3


def test_initialisations_are_counted(driver: FakeDriver, nvml: NvmlProcess) -> None:
    nvml.ask("n.nvmlInit()")
    nvml.ask("n.nvmlShutdown()")
    assert nvml.ask("n.nvmlDeviceGetCount()") == 2
    nvml.ask("n.nvmlShutdown()")
    assert nvml.ask("n.nvmlDeviceGetCount()") == "NVMLError_Uninitialized"
    assert nvml.ask("n.nvmlShutdown()") == "NVMLError_Uninitialized"
    assert driver.count("nvmlInitWithFlags").finished == 2
    assert driver.count("nvmlDeviceGetCount_v2").started == 2
    assert driver.count("nvmlDeviceGetName").started == 0


def test_no_gpus(driver: FakeDriver) -> None:
    driver.write(Scenario())
    with NvmlProcess(driver) as nvml:
        assert nvml.ask("n.nvmlInit()") == "NVMLError_GpuNotFound"
        assert nvml.ask("n.nvmlInitWithFlags(n.NVML_INIT_FLAG_NO_GPUS)") is None
        assert nvml.ask("n.nvmlDeviceGetCount()") == 0


def test_a_change_while_running_is_seen(driver: FakeDriver, nvml: NvmlProcess) -> None:
    for pid in range(1000, 1100):
        change_gpu0(driver, processes=(Process(pid, MIB),))
        (row,) = nvml.ask("n.nvmlDeviceGetComputeRunningProcesses(h0)")
        assert row["pid"] == pid


def test_a_scenario_that_cannot_be_read_fails_loudly(driver: FakeDriver, nvml: NvmlProcess) -> None:
    driver.scenario_path.write_text("driver\tversion=1\ngpu\tuuid=GPU-0\tcolour=green\n")
    assert nvml.ask("n.nvmlDeviceGetCount()") == "NVMLError_Unknown"
    driver.write(driver.scenario)
    assert nvml.ask("n.nvmlDeviceGetCount()") == 2


def test_a_text_that_the_format_cannot_carry_is_refused(driver: FakeDriver) -> None:
    with pytest.raises(ValueError, match="tab"):
        change_gpu0(driver, name="two\tnames")


def test_the_library_exports_nvml_and_nothing_else() -> None:
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", build() / LIBRARY],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split("\n")
    names = {line.split()[-1] for line in symbols if line}
    listed = re.findall(r"X\((nvml\w+)\)", (SOURCES / "functions.h").read_text())
    assert names == {*listed, "nvmlErrorString"}
    old = ctypes.CDLL(str(build(Variant.BEFORE_510) / LIBRARY))
    assert not hasattr(old, "nvmlDeviceGetComputeRunningProcesses_v3")
    assert hasattr(old, "nvmlDeviceGetComputeRunningProcesses_v2")


THREADS = """
import threading, sys, pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
wrong = []
def work():
    for _ in range(2000):
        rows = n.nvmlDeviceGetComputeRunningProcesses(h)
        if len({r.usedGpuMemory for r in rows}) > 1 or len(rows) != 8:
            wrong.append([str(r) for r in rows])
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(wrong), wrong[:1])
"""


def test_threads_never_see_half_a_scenario(driver: FakeDriver) -> None:
    def eight(memory: int) -> tuple[Process, ...]:
        return tuple(Process(pid, memory) for pid in range(8))

    change_gpu0(driver, processes=eight(1))
    worker = subprocess.Popen(
        [sys.executable, "-c", THREADS], env=driver.environment(), stdout=subprocess.PIPE, text=True
    )
    memory = 1
    while worker.poll() is None:
        memory += 1
        change_gpu0(driver, processes=eight(memory))
    assert worker.stdout is not None
    assert worker.stdout.read() == "0 []\n"
    assert memory > 10
