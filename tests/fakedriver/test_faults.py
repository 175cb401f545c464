"""Each fault does to real nvidia-ml-py what the scenario says, and ends when it is taken out."""

import signal

import pytest

from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.faults import Fault, NvmlReturn
from tests.fakedriver.nvml_process import NvmlProcess
from tests.fakedriver.scenario import Gpu, MigInstance, Process, Scenario

GPU0, GPU1, GPU2 = (Gpu.number(index).uuid for index in range(3))
LOST = "NVMLError_GpuIsLost"


def strike(driver: FakeDriver, *faults: Fault) -> None:
    driver.change(lambda scenario: scenario.with_faults(*faults))


def test_a_code_for_one_function_of_one_gpu(driver: FakeDriver, nvml: NvmlProcess) -> None:
    strike(driver, Fault.returns(NvmlReturn.UNKNOWN, "nvmlDeviceGetName", gpu=GPU0))
    assert nvml.ask("n.nvmlDeviceGetName(h0)") == "NVMLError_Unknown"
    assert nvml.ask("n.nvmlDeviceGetUUID(h0)") == GPU0
    assert nvml.ask("n.nvmlDeviceGetName(h1)") == "NVIDIA H100 80GB HBM3"
    strike(driver)
    assert nvml.ask("n.nvmlDeviceGetName(h0)") == "NVIDIA H100 80GB HBM3"


def test_a_pattern_of_functions(driver: FakeDriver, nvml: NvmlProcess) -> None:
    strike(driver, Fault.returns(NvmlReturn.NO_PERMISSION, "*RunningProcesses_v3"))
    question = "n.nvmlDeviceGet{}RunningProcesses{}(h0)"
    assert nvml.ask(question.format("Compute", "_v3")) == "NVMLError_NoPermission"
    assert nvml.ask(question.format("Graphics", "_v3")) == "NVMLError_NoPermission"
    assert len(nvml.ask(question.format("Compute", "_v2"))) == 1


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (NvmlReturn.DRIVER_NOT_LOADED, "NVMLError_DriverNotLoaded"),
        (NvmlReturn.LIB_RM_VERSION_MISMATCH, "NVMLError_LibRmVersionMismatch"),
    ],
)
def test_initialisation_fails(driver: FakeDriver, code: NvmlReturn, error: str) -> None:
    strike(driver, Fault.returns(code, "nvmlInit*"))
    with NvmlProcess(driver) as nvml:
        assert nvml.ask("n.nvmlInit()") == error
        assert nvml.ask("n.nvmlDeviceGetCount()") == "NVMLError_Uninitialized"
        strike(driver)
        assert nvml.ask("n.nvmlInit()") is None


def test_a_limited_fault_strikes_that_often_over_all_processes(driver: FakeDriver) -> None:
    fault = Fault.returns(NvmlReturn.TIMEOUT, "nvmlDeviceGetCount_v2", times=3)
    strike(driver, fault)
    answers = []
    for _ in range(2):
        with NvmlProcess(driver) as nvml:
            answers += [nvml.ask("n.nvmlDeviceGetCount()") for _ in range(2)]
            driver.write(driver.scenario)
    assert answers == ["NVMLError_Timeout"] * 3 + [2]
    strike(driver)
    strike(driver, fault)
    with NvmlProcess(driver) as nvml:
        assert nvml.ask("n.nvmlDeviceGetCount()") == "NVMLError_Timeout"


def test_a_lost_gpu_keeps_its_place(driver: FakeDriver, nvml: NvmlProcess) -> None:
    driver.change(lambda scenario: scenario.with_gpu(GPU0, lost=True))
    assert nvml.ask("n.nvmlDeviceGetCount()") == 2
    for question in (
        "n.nvmlDeviceGetHandleByIndex(0)",
        "n.nvmlDeviceGetUUID(h0)",
        "n.nvmlDeviceGetMemoryInfo(h0)",
        "n.nvmlDeviceGetComputeRunningProcesses(h0)",
    ):
        assert nvml.ask(question) == LOST, question
    assert nvml.ask("n.nvmlDeviceGetIndex(h1)") == 1


def test_a_lost_gpu_that_is_no_longer_enumerated_shifts_the_others(
    driver: FakeDriver, nvml: NvmlProcess
) -> None:
    driver.change(lambda scenario: scenario.with_gpu(GPU0, lost=True, enumerated=False))
    assert nvml.ask("n.nvmlDeviceGetCount()") == 1
    assert nvml.ask("n.nvmlDeviceGetIndex(h1)") == 0
    assert nvml.ask("n.nvmlDeviceGetHandleByIndex(0)") == nvml.ask("h1")
    assert nvml.ask("n.nvmlDeviceGetUUID(h0)") == LOST
    assert nvml.ask(f"n.nvmlDeviceGetHandleByUUID('{GPU0}')") == "NVMLError_NotFound"
    driver.change(lambda scenario: scenario.with_gpu(GPU0, lost=False, enumerated=True))
    assert nvml.ask("n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByIndex(0))") == GPU0


def test_enumeration_at_initialisation_only(driver: FakeDriver) -> None:
    driver.write(Scenario((Gpu.number(0), Gpu.number(1)), enumerate_at_init=True))
    with NvmlProcess(driver) as nvml:
        gone = Gpu.number(0, lost=True, enumerated=False)
        driver.write(Scenario((gone, Gpu.number(1), Gpu.number(2)), enumerate_at_init=True))
        assert nvml.ask("n.nvmlDeviceGetCount()") == 2
        assert nvml.ask("n.nvmlDeviceGetHandleByIndex(0)") == LOST
        assert nvml.ask(f"n.nvmlDeviceGetHandleByUUID('{GPU2}')") == "NVMLError_NotFound"
        nvml.ask("n.nvmlShutdown()")
        nvml.ask("n.nvmlInit()")
        uuids = [f"n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByIndex({i}))" for i in (0, 1)]
        assert [nvml.ask(question) for question in uuids] == [GPU1, GPU2]


def test_a_fault_of_a_gpu_is_its_mig_devices_too(driver: FakeDriver, nvml: NvmlProcess) -> None:
    mig = tuple(MigInstance(f"MIG-{i}", index=i, gpu_instance=i) for i in (0, 1))
    driver.write(Scenario((Gpu.number(0, mig=True, mig_instances=mig),)))
    nvml.ask("m0 := n.nvmlDeviceGetMigDeviceHandleByIndex(h0, 0)")
    nvml.ask("m1 := n.nvmlDeviceGetMigDeviceHandleByIndex(h0, 1)")
    strike(driver, Fault.returns(NvmlReturn.UNKNOWN, "nvmlDeviceGetName", gpu="MIG-0"))
    answers = [nvml.ask(f"n.nvmlDeviceGetName({handle})") for handle in ("h0", "m0", "m1")]
    assert [answer == "NVMLError_Unknown" for answer in answers] == [False, True, False]
    strike(driver, Fault.returns(NvmlReturn.UNKNOWN, "nvmlDeviceGetName", gpu=GPU0))
    answers = [nvml.ask(f"n.nvmlDeviceGetName({handle})") for handle in ("h0", "m0", "m1")]
    assert answers == ["NVMLError_Unknown"] * 3


def test_a_hang_ends_when_the_scenario_changes(driver: FakeDriver, nvml: NvmlProcess) -> None:
    hang = Fault.hangs("nvmlDeviceGetMemoryInfo", gpu=GPU1)
    strike(driver, hang)
    assert nvml.ask("n.nvmlDeviceGetMemoryInfo(h0)")["total"] > 0
    nvml.begin("n.nvmlDeviceGetMemoryInfo(h1)")
    driver.wait_until_hanging("nvmlDeviceGetMemoryInfo")
    strike(driver, hang, Fault.returns(NvmlReturn.UNKNOWN, "nvmlDeviceGetName"))
    assert not nvml.has_answered(within=0.3)
    strike(driver)
    assert nvml.answer()["total"] > 0


def test_a_hanging_initialisation_can_be_killed(driver: FakeDriver) -> None:
    strike(driver, Fault.hangs("nvmlInit*", times=1))
    nvml = NvmlProcess(driver)
    nvml.begin("n.nvmlInit()")
    driver.wait_until_hanging("nvmlInitWithFlags")
    nvml.process.kill()
    nvml.process.communicate()
    assert driver.count("nvmlInitWithFlags").in_progress == 1
    with NvmlProcess(driver) as another:
        assert another.ask("n.nvmlDeviceGetCount()") == 2


def test_a_delay_is_answered_late_but_rightly(driver: FakeDriver, nvml: NvmlProcess) -> None:
    strike(driver, Fault.delays(20, "nvmlDeviceGetCount_v2"))
    assert nvml.ask("n.nvmlDeviceGetCount()") == 2
    strike(driver, Fault.delays(3_600_000, "nvmlDeviceGetCount_v2"))
    nvml.begin("n.nvmlDeviceGetCount()")
    driver.wait_until_hanging("nvmlDeviceGetCount_v2")
    strike(driver)
    assert not nvml.has_answered(within=0.2), "a delay is sat out, whatever happens meanwhile"


@pytest.mark.parametrize("signal_number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_crash_takes_the_process_along(
    driver: FakeDriver, nvml: NvmlProcess, signal_number: signal.Signals
) -> None:
    strike(driver, Fault.crashes(signal_number, "nvmlDeviceGetName"))
    assert nvml.ask("n.nvmlDeviceGetUUID(h0)") == GPU0
    with pytest.raises(EOFError):
        nvml.ask("n.nvmlDeviceGetName(h0)")
    assert nvml.process.wait(timeout=20) == -signal_number


def test_a_list_that_grows_between_size_and_fetch(driver: FakeDriver, nvml: NvmlProcess) -> None:
    question = "n.nvmlDeviceGetComputeRunningProcesses(h0)"
    strike(driver, Fault.grows(3))
    assert len(nvml.ask(question)) == 4
    assert len(nvml.ask(question)) == 1
    strike(driver, Fault.grows(100))
    assert nvml.ask(question) == "NVMLError_InsufficientSize"
    assert len(nvml.ask(question)) == 1


def test_faults_are_met_in_their_order(driver: FakeDriver, nvml: NvmlProcess) -> None:
    strike(
        driver,
        Fault.returns(NvmlReturn.TIMEOUT, "nvmlDeviceGetName", gpu=GPU0),
        Fault.returns(NvmlReturn.UNKNOWN, "nvmlDevice*"),
    )
    assert nvml.ask("n.nvmlDeviceGetName(h0)") == "NVMLError_Timeout"
    assert nvml.ask("n.nvmlDeviceGetName(h1)") == "NVMLError_Unknown"


def test_a_process_list_of_a_gpu_in_trouble_hides_no_other(
    driver: FakeDriver, nvml: NvmlProcess
) -> None:
    driver.change(lambda scenario: scenario.with_gpu(GPU1, processes=(Process(5),)))
    strike(driver, Fault.returns(NvmlReturn.GPU_IS_LOST, gpu=GPU0))
    assert nvml.ask("n.nvmlDeviceGetComputeRunningProcesses(h0)") == LOST
    assert [row["pid"] for row in nvml.ask("n.nvmlDeviceGetComputeRunningProcesses(h1)")] == [5]
