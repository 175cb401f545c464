"""The kernel module is not loaded: no GPUs, a reason, no crash loop, and noticed when it comes."""

from pathlib import Path

from nodeagent.gpus.sample import MissingKind
from tests.driverprocess import FIRST, SECOND, TWO_GPUS, is_whole, reason, sampling, uuids
from tests.fakedriver.faults import Fault, NvmlReturn

NOT_LOADED = TWO_GPUS.with_faults(Fault.returns(NvmlReturn.DRIVER_NOT_LOADED))


async def test_the_answer_is_empty_and_says_why(tmp_path: Path) -> None:
    async with sampling(tmp_path, NOT_LOADED) as driver:
        sample = await driver.sample()
        assert sample.taken is None
        assert sample.gpus == ()
        assert sample.missing[0].kind is MissingKind.DRIVER
        assert "nvmlInit: NVML_ERROR_DRIVER_NOT_LOADED" in reason(sample)
        assert "modprobe" in reason(sample)


async def test_many_requests_initialise_once(tmp_path: Path) -> None:
    async with sampling(tmp_path, NOT_LOADED, pause_s=600.0) as driver:
        for _ in range(100):
            assert (await driver.sample()).gpus == ()
        assert driver.fake.count("nvmlInitWithFlags").started == 1


async def test_a_driver_loaded_later_is_noticed(tmp_path: Path) -> None:
    async with sampling(tmp_path, NOT_LOADED) as driver:
        await driver.sample()
        driver.fake.write(TWO_GPUS)
        assert uuids(await driver.until(is_whole)) == [FIRST, SECOND]


async def test_a_driver_unloaded_under_the_agent_comes_back(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        driver.fake.write(NOT_LOADED)
        sample = await driver.sample()
        assert sample.taken is None
        assert uuids(sample) == [FIRST, SECOND]
        assert "DRIVER_NOT_LOADED" in reason(sample)
        driver.fake.write(TWO_GPUS)
        assert uuids(await driver.until(is_whole)) == [FIRST, SECOND]
