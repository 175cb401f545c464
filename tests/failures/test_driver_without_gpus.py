"""A driver without a GPU: an empty answer that says so, and the GPU is noticed when it comes."""

from pathlib import Path

from nodeagent.gpus.sample import MissingKind
from tests.driverprocess import FIRST, SECOND, TWO_GPUS, is_whole, reason, sampling, uuids
from tests.fakedriver.scenario import Scenario


async def test_the_answer_is_empty_until_there_is_one(tmp_path: Path) -> None:
    async with sampling(tmp_path, Scenario()) as driver:
        sample = await driver.sample()
        assert sample.gpus == ()
        assert sample.missing[0].kind is MissingKind.DRIVER
        assert "sees no GPU" in reason(sample)
        driver.fake.write(TWO_GPUS)
        assert uuids(await driver.until(is_whole)) == [FIRST, SECOND]


async def test_a_driver_that_counts_none_is_initialised_again(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        child = driver.child_pid
        driver.fake.change(lambda now: now.with_gpu(FIRST, enumerated=False))
        driver.fake.change(lambda now: now.with_gpu(SECOND, enumerated=False))
        sample = await driver.sample()
        assert {entry.subject for entry in sample.missing} == {"", FIRST, SECOND}
        driver.fake.write(TWO_GPUS)
        assert uuids(await driver.until(is_whole)) == [FIRST, SECOND]
        assert driver.child_pid == child
