"""A call of the driver that does not come back costs one child process, and no answer."""

import asyncio
from pathlib import Path

import pytest

from nodeagent.gpus.child import Child
from nodeagent.gpus.sample import MissingKind
from tests.driverprocess import (
    AMPLE_S,
    FIRST,
    SECOND,
    SHORT_LIMIT_S,
    TWO_GPUS,
    ended,
    is_whole,
    pids,
    reason,
    sampling,
    uuids,
)
from tests.fakedriver.faults import Fault

QUERY = "nvmlDeviceGetUtilizationRates"
HANGING = TWO_GPUS.with_faults(Fault.hangs(QUERY))


async def test_the_answer_has_the_gpus_last_seen_and_says_why(tmp_path: Path) -> None:
    async with sampling(tmp_path, limit_s=SHORT_LIMIT_S) as driver:
        before = await driver.sample()
        driver.fake.write(HANGING)
        sample = await driver.sample()
        assert sample.taken is None
        assert uuids(sample) == [FIRST, SECOND]
        assert [gpu.pci_address for gpu in sample.gpus] == [gpu.pci_address for gpu in before.gpus]
        for gpu in sample.gpus:
            assert gpu.processes == ()
            assert gpu.memory_total_bytes is gpu.memory_used_bytes is None
            assert gpu.utilization_percent is None
        assert sample.missing[0].kind is MissingKind.DRIVER
        assert "has not answered for" in reason(sample)
        assert f"in {QUERY} of {FIRST}, was killed" in reason(sample)
        assert "nvidia-smi" in reason(sample)


async def test_the_child_that_hangs_is_killed_and_a_fresh_one_answers(tmp_path: Path) -> None:
    async with sampling(tmp_path, limit_s=SHORT_LIMIT_S) as driver:
        await driver.sample()
        held = driver.child_pid
        driver.fake.write(HANGING)
        await driver.sample()
        await ended(held)
        driver.fake.write(TWO_GPUS)
        sample = await driver.until(is_whole)
        assert pids(sample.gpus[0]) == [4_000_101]
        assert driver.child_pid != held


async def test_a_hang_in_the_first_call_of_all_leaves_no_gpus_and_a_reason(tmp_path: Path) -> None:
    scenario = TWO_GPUS.with_faults(Fault.hangs("nvmlInitWithFlags"))
    async with sampling(tmp_path, scenario) as driver:
        sample = await driver.sample(deadline_s=0.05)
        assert sample.taken is None
        assert sample.gpus == ()
        assert "has not answered for" in reason(sample)
        driver.fake.write(TWO_GPUS)
        assert uuids(await driver.until(is_whole)) == [FIRST, SECOND]


async def test_a_caller_in_haste_leaves_the_call_running_for_the_next(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        child = driver.child_pid
        driver.fake.write(HANGING)
        assert (await driver.sample(deadline_s=0.05)).taken is None
        patient = asyncio.create_task(driver.sample())
        driver.fake.wait_until_hanging(QUERY)
        driver.fake.write(TWO_GPUS)
        assert is_whole(await patient)
        assert driver.child_pid == child


async def test_those_who_waited_for_it_do_not_wait_for_the_next_attempt_too(tmp_path: Path) -> None:
    """A fresh process may take as long as a driver that is being loaded."""
    async with sampling(tmp_path, limit_s=SHORT_LIMIT_S, pause_s=0.0) as driver:
        await driver.sample()
        driver.fake.write(HANGING)
        asking = [asyncio.create_task(driver.sample()) for _ in range(50)]
        samples = await asyncio.gather(*asking)
        assert {sample.taken for sample in samples} == {None}
        attempt = driver.source._asking
        assert attempt is not None
        assert not attempt.done(), "nobody has waited for it"


async def test_many_requests_to_a_driver_that_hangs_start_few_processes(tmp_path: Path) -> None:
    async with sampling(tmp_path, limit_s=SHORT_LIMIT_S) as driver:
        await driver.sample()
        driver.fake.write(HANGING)
        samples = await asyncio.gather(*(driver.sample() for _ in range(200)))
        assert {sample.taken for sample in samples} == {None}
        # The one that hung, and at most a few attempts as the pauses between them grow.
        assert driver.fake.count("nvmlInitWithFlags").started <= 4


async def test_children_held_in_the_kernel_are_not_waited_for_nor_multiplied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = asyncio.Event()
    reap = Child.ended

    async def held(child: Child) -> None:
        """As the kernel holds a killed process until the driver's call returns."""
        await let_go.wait()
        await reap(child)

    monkeypatch.setattr(Child, "ended", held)
    async with sampling(tmp_path, limit_s=SHORT_LIMIT_S) as driver:
        await driver.sample()
        driver.fake.write(HANGING)
        driver.source._start_limit_s = SHORT_LIMIT_S
        sample = await driver.until(lambda sample: "held in the kernel" in reason(sample))
        assert uuids(sample) == [FIRST, SECOND]
        started = driver.fake.count("nvmlInitWithFlags").started
        for _ in range(20):
            await driver.sample()
            await asyncio.sleep(0.01)  # lets each pause between attempts pass
        assert driver.fake.count("nvmlInitWithFlags").started == started
        let_go.set()
        driver.fake.write(TWO_GPUS)
        driver.source._start_limit_s = AMPLE_S
        assert is_whole(await driver.until(is_whole))


async def test_close_ends_a_child_that_hangs(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        child = driver.child_pid
        driver.fake.write(HANGING)
        assert (await driver.sample(deadline_s=0.05)).taken is None
        await driver.source.close()
        await ended(child)
        with pytest.raises(RuntimeError, match="closed"):
            await driver.sample()
