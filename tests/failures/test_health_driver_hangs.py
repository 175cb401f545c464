"""The driver hangs: every GPU is unfit, it is said in which call, and the service goes on."""

import os
import signal
from pathlib import Path

from tests.driverprocess import FIRST, ended
from tests.fakedriver.faults import Fault, NvmlReturn
from tests.healthwatch import SHORT_HANG_S, unfit, watching


async def test_a_call_that_hangs_costs_its_process_and_is_named(tmp_path: Path) -> None:
    async with watching(tmp_path, hang_limit_s=SHORT_HANG_S) as watched:
        child = watched.nvml.child_pid
        assert child is not None
        hang = Fault.hangs("nvmlDeviceGetMemoryInfo", gpu=FIRST)
        watched.fake.change(lambda now: now.with_faults(hang))
        them = await watched.until(lambda them: unfit(them) == [0, 1])
        assert all(each.reason.startswith("driver-hang: ") for each in them)
        assert f"nvmlDeviceGetMemoryInfo of {FIRST}" in them[0].reason
        await ended(child)


async def test_they_are_fit_again_when_it_answers_and_stays_so(tmp_path: Path) -> None:
    async with watching(tmp_path, hang_limit_s=SHORT_HANG_S) as watched:
        watched.fake.change(lambda now: now.with_faults(Fault.hangs()))
        await watched.until(lambda them: unfit(them) == [0, 1])
        watched.fake.change(lambda now: now.with_faults())
        await watched.until(lambda them: not unfit(them))


async def test_a_driver_that_is_unloaded_is_no_hang(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        fault = Fault.returns(NvmlReturn.DRIVER_NOT_LOADED)
        watched.fake.change(lambda now: now.with_faults(fault))
        them = await watched.until(lambda them: unfit(them) == [0, 1])
        assert them[0].reason.startswith("driver-unavailable: ")
        assert "NVML_ERROR_DRIVER_NOT_LOADED" in them[0].reason
        watched.fake.change(lambda now: now.with_faults())
        await watched.until(lambda them: not unfit(them))


async def test_a_library_that_crashes_takes_no_gpu_with_it_unless_it_goes_on(
    tmp_path: Path,
) -> None:
    async with watching(tmp_path) as watched:
        once = Fault.crashes(function="nvmlDeviceGetTotalEccErrors", times=1)
        watched.fake.change(lambda now: now.with_faults(once))
        await watched.until(lambda _: "died" in "".join(watched.monitor.problems))
        assert unfit(watched.verdicts) == []
        await watched.until(lambda _: watched.monitor.problems == ())
        always = Fault.crashes(function="nvmlDeviceGetTotalEccErrors")
        watched.fake.change(lambda now: now.with_faults(always))
        them = await watched.until(lambda them: unfit(them) == [0, 1])
        assert "SIGSEGV" in them[0].reason


async def test_a_child_ended_by_a_signal_without_a_name_is_replaced(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        child = watched.nvml.child_pid
        assert child is not None
        os.kill(child, signal.SIGRTMIN + 1)
        await watched.until(
            lambda _: f"signal {signal.SIGRTMIN + 1}" in "".join(watched.monitor.problems)
        )
        await watched.until(lambda _: watched.monitor.problems == ())
        assert unfit(watched.verdicts) == []
