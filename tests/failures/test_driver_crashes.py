"""The driver's library ends the process that calls it: the agent goes on."""

import os
import signal
from pathlib import Path

from nodeagent.gpus.sample import MissingKind
from tests.driverprocess import FIRST, SECOND, TWO_GPUS, ended, is_whole, reason, sampling, uuids
from tests.fakedriver.faults import Fault

CRASHING = TWO_GPUS.with_faults(Fault.crashes(signal.SIGSEGV, "nvmlDeviceGetMemoryInfo*"))


async def test_one_crash_is_not_seen_in_the_answer(tmp_path: Path) -> None:
    once = Fault.crashes(signal.SIGSEGV, "nvmlDeviceGetMemoryInfo*", times=1)
    async with sampling(tmp_path) as driver:
        await driver.sample()
        crashed = driver.child_pid
        driver.fake.write(TWO_GPUS.with_faults(once))
        assert is_whole(await driver.sample())
        assert driver.child_pid != crashed


async def test_a_crash_at_every_call_is_told_with_its_signal(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        driver.fake.write(CRASHING)
        sample = await driver.sample()
        assert sample.taken is None
        assert uuids(sample) == [FIRST, SECOND]
        assert sample.missing[0].kind is MissingKind.DRIVER
        assert "SIGSEGV" in reason(sample)
        driver.fake.write(TWO_GPUS)
        assert uuids(await driver.until(is_whole)) == [FIRST, SECOND]


async def test_a_signal_without_a_name_is_told_by_its_number(tmp_path: Path) -> None:
    real_time = TWO_GPUS.with_faults(Fault.crashes(signal.SIGRTMIN + 1, "nvmlDeviceGetMemoryInfo*"))
    async with sampling(tmp_path, real_time) as driver:
        assert f"ended by signal {signal.SIGRTMIN + 1}" in reason(await driver.sample())


async def test_many_requests_start_few_processes(tmp_path: Path) -> None:
    async with sampling(tmp_path, CRASHING, pause_s=600.0) as driver:
        for _ in range(100):
            assert (await driver.sample()).taken is None
        assert driver.fake.count("nvmlInitWithFlags").started == 2


async def test_a_child_killed_between_two_requests_is_replaced_unseen(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        killed = driver.child_pid
        os.kill(killed, signal.SIGKILL)
        await ended(killed)
        assert is_whole(await driver.sample())


async def test_what_the_child_last_said_is_in_the_reason(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text("raise RuntimeError('no bindings on this node')\n")
    async with sampling(tmp_path, environment={"PYTHONPATH": str(tmp_path)}) as driver:
        sample = await driver.sample()
        assert "exit code 1" in reason(sample)
        assert "no bindings on this node" in reason(sample)
