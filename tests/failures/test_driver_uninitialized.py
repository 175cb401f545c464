"""The library has lost its initialisation: it is initialised again within the same sample."""

from pathlib import Path

import pytest

from tests.driverprocess import TWO_GPUS, is_whole, sampling
from tests.fakedriver.faults import Fault, NvmlReturn


@pytest.mark.parametrize(
    "function", ["nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "*ComputeRunning*"]
)
async def test_the_same_child_answers_whole(tmp_path: Path, function: str) -> None:
    once = Fault.returns(NvmlReturn.UNINITIALIZED, function, times=1)
    async with sampling(tmp_path) as driver:
        await driver.sample()
        child = driver.child_pid
        driver.fake.write(TWO_GPUS.with_faults(once))
        assert is_whole(await driver.sample())
        assert driver.child_pid == child
        assert driver.fake.count("nvmlInitWithFlags").finished == 2
        assert driver.fake.count("nvmlShutdown").finished == 1
