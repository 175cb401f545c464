"""Events: XIDs posted while a set waits are delivered once, in order, to those who listen."""

import pytest

from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.faults import Event, EventType, Fault, NvmlReturn
from tests.fakedriver.nvml_process import NvmlProcess
from tests.fakedriver.scenario import Gpu

GPU0, GPU1 = Gpu.number(0).uuid, Gpu.number(1).uuid
WAIT = "n.nvmlEventSetWait_v2(s, {})"
XID = "n.nvmlEventTypeXidCriticalError"


@pytest.fixture
def listening(nvml: NvmlProcess) -> NvmlProcess:
    nvml.ask("s := n.nvmlEventSetCreate()")
    assert nvml.ask("n.nvmlDeviceGetSupportedEventTypes(h0)") == 0x1F
    assert nvml.ask(f"n.nvmlDeviceRegisterEvents(h0, {XID}, s)") is None
    return nvml


def test_an_xid_ends_the_wait(driver: FakeDriver, listening: NvmlProcess) -> None:
    listening.begin(WAIT.format(60_000))
    driver.wait_until_hanging("nvmlEventSetWait_v2")
    assert not listening.has_answered()
    driver.post(Event.xid(GPU0, 79))
    event = listening.answer()
    assert (event["device"], event["eventType"], event["eventData"]) == (listening.ask("h0"), 8, 79)
    assert (event["gpuInstanceId"], event["computeInstanceId"]) == (0xFFFFFFFF, 0xFFFFFFFF)


def test_each_event_once_and_in_order(driver: FakeDriver, listening: NvmlProcess) -> None:
    driver.post(Event.xid(GPU0, 13), Event.xid(GPU0, 31))
    driver.post(Event(GPU0, 48, gpu_instance=7, compute_instance=1))
    events = [listening.ask(WAIT.format(0)) for _ in range(3)]
    assert [event["eventData"] for event in events] == [13, 31, 48]
    assert (events[2]["gpuInstanceId"], events[2]["computeInstanceId"]) == (7, 1)
    assert listening.ask(WAIT.format(30)) == "NVMLError_Timeout"


def test_what_nobody_listens_for_is_not_delivered(
    driver: FakeDriver, listening: NvmlProcess
) -> None:
    driver.post(Event.xid(GPU1, 79), Event(GPU0, type=EventType.DOUBLE_BIT_ECC))
    assert listening.ask(WAIT.format(0)) == "NVMLError_Timeout"
    listening.ask(f"n.nvmlDeviceRegisterEvents(h1, {XID}, s)")
    assert listening.ask(WAIT.format(0)) == "NVMLError_Timeout", "it happened before"
    driver.post(Event.xid(GPU1, 74))
    assert listening.ask(WAIT.format(0))["eventData"] == 74


def test_every_set_has_its_own_copy(driver: FakeDriver, listening: NvmlProcess) -> None:
    listening.ask("other := n.nvmlEventSetCreate()")
    listening.ask(f"n.nvmlDeviceRegisterEvents(h0, {XID}, other)")
    driver.post(Event.xid(GPU0, 62))
    assert listening.ask(WAIT.format(0))["eventData"] == 62
    assert listening.ask("n.nvmlEventSetWait_v2(other, 0)")["eventData"] == 62


def test_an_event_without_a_device(driver: FakeDriver, listening: NvmlProcess) -> None:
    driver.post(Event.xid(None, 79))
    listening.ask(f"e := {WAIT.format(0)}")
    assert listening.ask("e.eventData") == 79
    assert listening.ask("n.nvmlDeviceGetUUID(e.device)") == "NVMLError_InvalidArgument"


def test_a_lost_gpu_ends_the_wait_after_its_last_event(
    driver: FakeDriver, listening: NvmlProcess
) -> None:
    listening.begin(WAIT.format(60_000))
    driver.wait_until_hanging("nvmlEventSetWait_v2")
    driver.change(lambda scenario: scenario.with_gpu(GPU1, lost=True))
    assert not listening.has_answered(within=0.2), "nobody listens to that one"
    driver.change(lambda scenario: scenario.with_gpu(GPU0, lost=True))
    assert listening.answer() == "NVMLError_GpuIsLost"
    driver.post(Event.xid(GPU0, 79))
    assert listening.ask(WAIT.format(0))["eventData"] == 79
    assert listening.ask(WAIT.format(0)) == "NVMLError_GpuIsLost"


def test_a_fault_reaches_a_wait_in_progress(driver: FakeDriver, listening: NvmlProcess) -> None:
    listening.begin(WAIT.format(60_000))
    driver.wait_until_hanging("nvmlEventSetWait_v2")
    fault = Fault.returns(NvmlReturn.UNKNOWN, "nvmlEventSetWait_v2")
    driver.change(lambda scenario: scenario.with_faults(fault))
    assert listening.answer() == "NVMLError_Unknown"


def test_a_freed_set_is_invalid(listening: NvmlProcess) -> None:
    assert listening.ask("n.nvmlEventSetFree(s)") is None
    assert listening.ask(WAIT.format(0)) == "NVMLError_InvalidArgument"
    assert listening.ask("n.nvmlEventSetFree(s)") == "NVMLError_InvalidArgument"
