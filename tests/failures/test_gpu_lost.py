"""A GPU falls off the bus: it is named, the others are whole, and no index shifts."""

from dataclasses import replace
from pathlib import Path

import pytest

from nodeagent.gpus.sample import MissingKind
from tests.driverprocess import FIRST, SECOND, TWO_GPUS, is_whole, pids, reason, sampling, uuids
from tests.fakedriver.faults import Fault, NvmlReturn

LOST = TWO_GPUS.with_gpu(FIRST, lost=True)


async def test_one_seen_before_stays_by_its_uuid_without_what_changes(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        driver.fake.write(LOST)
        sample = await driver.sample()
        assert sample.taken is not None
        lost, other = sample.gpus
        assert (lost.uuid, lost.index, lost.processes) == (FIRST, 0, ())
        assert lost.memory_used_bytes is None
        assert (other.uuid, other.index, pids(other)) == (SECOND, 1, [4_000_111])
        assert (sample.missing[0].kind, sample.missing[0].subject) == (MissingKind.GPU, FIRST)
        assert "nvmlDeviceGetHandleByIndex: NVML_ERROR_GPU_IS_LOST" in reason(sample)
        assert "Xid 79" in reason(sample)


async def test_one_never_seen_is_named_by_its_index(tmp_path: Path) -> None:
    async with sampling(tmp_path, LOST) as driver:
        sample = await driver.sample()
        assert uuids(sample) == [SECOND]
        assert sample.gpus[0].index == 1
        assert (sample.missing[0].kind, sample.missing[0].subject) == (MissingKind.GPU, "gpu 0")


async def test_one_lost_between_two_queries_is_asked_no_more(tmp_path: Path) -> None:
    fault = Fault.returns(NvmlReturn.GPU_IS_LOST, "nvmlDeviceGetUtilizationRates", gpu=FIRST)
    async with sampling(tmp_path, TWO_GPUS.with_faults(fault)) as driver:
        sample = await driver.sample()
        assert uuids(sample) == [FIRST, SECOND]
        assert sample.gpus[0].processes == ()
        assert [entry.subject for entry in sample.missing] == [FIRST]
        assert "nvmlDeviceGetUtilizationRates: NVML_ERROR_GPU_IS_LOST" in reason(sample)
        assert pids(sample.gpus[1]) == [4_000_111]


async def test_one_that_comes_back_is_whole_again(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        driver.fake.write(LOST)
        await driver.sample()
        driver.fake.write(TWO_GPUS)
        assert pids((await driver.until(is_whole)).gpus[0]) == [4_000_101]


async def test_the_driver_is_initialised_again_once_and_not_at_every_sample(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        driver.fake.write(LOST)
        for _ in range(10):
            await driver.sample()
        assert driver.fake.count("nvmlInitWithFlags").finished == 2


@pytest.mark.parametrize("at_init", [False, True])
async def test_when_the_driver_lists_it_no_more_its_neighbour_keeps_its_index(
    tmp_path: Path, *, at_init: bool
) -> None:
    async with sampling(tmp_path, replace(TWO_GPUS, enumerate_at_init=at_init)) as driver:
        await driver.sample()
        driver.fake.change(lambda now: now.with_gpu(FIRST, lost=True, enumerated=False))
        sample = await driver.until(lambda sample: "no longer lists" in reason(sample))
        assert [(gpu.uuid, gpu.index) for gpu in sample.gpus] == [(FIRST, 0), (SECOND, 1)]
        assert sample.missing[0].subject == FIRST
        assert pids(sample.gpus[1]) == [4_000_111]
