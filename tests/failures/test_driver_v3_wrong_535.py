"""Drivers 535.43 to before 535.86 fill the third version of the lists wrongly: ask the second."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.driverprocess import TWO_GPUS, is_whole, pids, sampling
from tests.fakedriver.scenario import Gpu, Process, Scenario

THREE = tuple(Process(4_000_100 + n, memory=(n + 1) << 20) for n in range(3))


def scenario(version: str) -> Scenario:
    return replace(TWO_GPUS, driver_version=version, gpus=(Gpu.number(0, *THREE),))


@pytest.mark.parametrize("version", ["535.43.02", "535.54.03"])
async def test_every_process_is_right(tmp_path: Path, version: str) -> None:
    async with sampling(tmp_path, scenario(version)) as driver:
        sample = await driver.sample()
        assert is_whole(sample)
        assert pids(sample.gpus[0]) == [4_000_100, 4_000_101, 4_000_102]
        held = [process.used_memory_bytes for process in sample.gpus[0].processes]
        assert held == [1 << 20, 2 << 20, 3 << 20]


@pytest.mark.parametrize("version", ["530.30.02", "535.86.10", "580.65.06"])
async def test_the_drivers_around_them_are_asked_in_the_third(tmp_path: Path, version: str) -> None:
    async with sampling(tmp_path, scenario(version)) as driver:
        assert is_whole(await driver.sample())
        assert driver.fake.count("nvmlDeviceGetComputeRunningProcesses_v2").started == 0
