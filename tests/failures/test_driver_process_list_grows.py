"""Processes start between the two calls that fetch a list: it is fetched again."""

from pathlib import Path

from tests.driverprocess import TWO_GPUS, is_whole, pids, reason, sampling
from tests.fakedriver.faults import Fault


async def test_a_list_that_grew_once_is_whole(tmp_path: Path) -> None:
    once = Fault.grows(50, "*ComputeRunning*", gpu=TWO_GPUS.gpus[0].uuid, times=1)
    async with sampling(tmp_path, TWO_GPUS.with_faults(once)) as driver:
        sample = await driver.sample()
        assert is_whole(sample)
        assert pids(sample.gpus[0]) == [4_000_101]


async def test_a_little_growth_fits(tmp_path: Path) -> None:
    once = Fault.grows(3, "*ComputeRunning*", gpu=TWO_GPUS.gpus[0].uuid, times=1)
    async with sampling(tmp_path, TWO_GPUS.with_faults(once)) as driver:
        sample = await driver.sample()
        assert is_whole(sample)
        assert len(pids(sample.gpus[0])) == 4


async def test_a_list_that_grows_each_time_is_told_as_unknown(tmp_path: Path) -> None:
    always = Fault.grows(50, "*ComputeRunning*", gpu=TWO_GPUS.gpus[0].uuid, times=None)
    async with sampling(tmp_path, TWO_GPUS.with_faults(always)) as driver:
        sample = await driver.sample()
        assert pids(sample.gpus[0]) == []
        assert "NVML_ERROR_INSUFFICIENT_SIZE" in reason(sample)
        assert pids(sample.gpus[1]) == [4_000_111]
