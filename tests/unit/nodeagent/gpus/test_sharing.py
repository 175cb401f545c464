"""One sample for all who ask at once, an older one for those who accept it."""

import asyncio
from dataclasses import dataclass, field

import pytest

from gpupods.identity import GpuUuid
from nodeagent.gpus.sample import Gpu, GpuSample, MigMode, MissingKind, Moment
from nodeagent.gpus.sharing import SharedSampler

LONG_S = 60.0


@dataclass
class Driver:
    """A source whose samples end when the test says so; each carries its number in its uuid."""

    now: float = 100.0
    started: int = 0
    most_at_once: int = 0
    fails: bool = False
    closed: bool = False
    running: list[asyncio.Event] = field(default_factory=list)

    async def sample(self, deadline_s: float) -> GpuSample:
        self.started += 1
        number, done, taken = self.started, asyncio.Event(), Moment(0.0, self.now)
        self.running.append(done)
        self.most_at_once = max(self.most_at_once, len(self.running))
        await done.wait()
        self.running.remove(done)
        if self.fails:
            raise ValueError("a bug")
        gpu = Gpu(0, GpuUuid(f"GPU-{number}"), "H100", "", 10, 5, 1, MigMode.DISABLED, ())
        return GpuSample(taken, (gpu,))

    async def close(self) -> None:
        self.closed = True

    async def finish(self) -> None:
        """End the running sample, and let what follows from it happen."""
        await settle()
        self.running[0].set()
        await settle()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def number(sample: GpuSample) -> int:
    return int(sample.gpus[0].uuid.removeprefix("GPU-"))


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.fixture
def sampler(driver: Driver) -> SharedSampler:
    return SharedSampler(driver, clock=lambda: driver.now)


def ask(
    sampler: SharedSampler, max_age_s: float = 0.0, deadline_s: float = LONG_S
) -> "asyncio.Task[GpuSample]":
    return asyncio.create_task(sampler.sample(max_age_s, deadline_s))


async def test_those_who_ask_at_once_share_one_sample(
    driver: Driver, sampler: SharedSampler
) -> None:
    callers = [ask(sampler) for _ in range(10)]
    await driver.finish()
    assert [number(await caller) for caller in callers] == [1] * 10
    assert driver.started == 1


async def test_those_who_come_while_one_is_taken_share_the_next(
    driver: Driver, sampler: SharedSampler
) -> None:
    first = ask(sampler)
    await settle()
    driver.now += 1
    later = [ask(sampler) for _ in range(10)]
    await driver.finish()
    assert number(await first) == 1
    assert not any(caller.done() for caller in later)
    await driver.finish()
    samples = [await caller for caller in later]
    assert {number(sample) for sample in samples} == {2}
    assert all(sample.taken is not None and sample.taken.boot >= 101.0 for sample in samples)
    assert driver.most_at_once == 1


async def test_an_age_is_met_by_the_last_sample(driver: Driver, sampler: SharedSampler) -> None:
    first = ask(sampler)
    await driver.finish()
    await first
    driver.now += 5.0
    assert number(await sampler.sample(5.0, LONG_S)) == 1
    too_old = ask(sampler, max_age_s=4.9)
    await driver.finish()
    assert number(await too_old) == 2


async def test_an_age_is_met_by_a_sample_that_is_being_taken(
    driver: Driver, sampler: SharedSampler
) -> None:
    first = ask(sampler)
    await settle()
    driver.now += 1.0
    second = ask(sampler, max_age_s=2.0)
    await driver.finish()
    assert number(await first) == number(await second) == 1


async def test_the_age_counts_from_the_beginning_of_a_sample(
    driver: Driver, sampler: SharedSampler
) -> None:
    first = ask(sampler)
    await settle()
    driver.now += 10.0
    await driver.finish()
    await first
    fresh = ask(sampler, max_age_s=9.0)
    await driver.finish()
    assert number(await fresh) == 2


async def test_a_short_deadline_ends_one_callers_wait_only(
    driver: Driver, sampler: SharedSampler
) -> None:
    patient = ask(sampler)
    await settle()
    hasty = await sampler.sample(0.0, 0.0)
    assert hasty.taken is None
    assert hasty.gpus == ()
    assert hasty.missing[0].kind is MissingKind.DRIVER
    assert "ask with a longer deadline" in hasty.missing[0].reason
    await driver.finish()
    assert number(await patient) == 1


async def test_who_is_late_gets_the_gpus_last_seen(driver: Driver, sampler: SharedSampler) -> None:
    first = ask(sampler)
    await driver.finish()
    await first
    driver.now += 1.0
    late = await sampler.sample(0.0, 0.0)
    assert number(late) == 1
    assert late.taken is None
    assert late.gpus[0].memory_used_bytes is None


async def test_the_first_caller_may_leave(driver: Driver, sampler: SharedSampler) -> None:
    first, second = ask(sampler), ask(sampler)
    await settle()
    first.cancel()
    await driver.finish()
    assert number(await second) == 1


async def test_a_bug_in_the_source_reaches_all_and_stops_nothing(
    driver: Driver, sampler: SharedSampler
) -> None:
    driver.fails = True
    callers = [ask(sampler) for _ in range(2)]
    await driver.finish()
    for caller in callers:
        with pytest.raises(ValueError, match="a bug"):
            await caller
    driver.fails = False
    after = ask(sampler)
    await driver.finish()
    assert number(await after) == 2


async def test_a_driver_that_did_not_answer_is_asked_again_whatever_the_age() -> None:
    class Silent(Driver):
        async def sample(self, deadline_s: float) -> GpuSample:
            self.started += 1
            return GpuSample(None, ())

    driver = Silent()
    sampler = SharedSampler(driver, clock=lambda: driver.now)
    await sampler.sample(60.0, LONG_S)
    await sampler.sample(60.0, LONG_S)
    assert driver.started == 2


async def test_close_stops_waiting_callers_and_closes_the_source(
    driver: Driver, sampler: SharedSampler
) -> None:
    running = ask(sampler)
    await settle()
    waiting = ask(sampler)
    await settle()
    await sampler.close()
    await settle()
    assert running.cancelled()
    assert waiting.cancelled()
    assert driver.closed


async def test_close_before_the_first_sample_has_begun_leaves_nobody_waiting(
    driver: Driver, sampler: SharedSampler
) -> None:
    caller = ask(sampler)
    await asyncio.sleep(0)
    await sampler.close()
    await settle()
    assert caller.cancelled()
    assert driver.started == 0


@pytest.fixture
def gathering(driver: Driver) -> SharedSampler:
    return SharedSampler(driver, gather_s=LONG_S, clock=lambda: driver.now)


async def shared(driver: Driver, sampler: SharedSampler, callers: int) -> None:
    first = [ask(sampler) for _ in range(callers)]
    await driver.finish()
    await asyncio.gather(*first)
    driver.now += 1


async def test_those_who_shared_a_sample_gather_for_the_next(
    driver: Driver, gathering: SharedSampler
) -> None:
    await shared(driver, gathering, 3)
    again = [ask(gathering), ask(gathering)]
    await settle()
    assert driver.started == 1
    again.append(ask(gathering))
    await driver.finish()
    assert [number(await caller) for caller in again] == [2, 2, 2]


async def test_those_who_waited_meanwhile_gather_with_them(
    driver: Driver, gathering: SharedSampler
) -> None:
    first = ask(gathering)
    await settle()
    driver.now += 1
    later = [ask(gathering), ask(gathering)]
    await driver.finish()
    await first
    assert driver.started == 1
    later.append(ask(gathering))
    await driver.finish()
    assert [number(await caller) for caller in later] == [2, 2, 2]


async def test_who_asks_alone_is_not_kept_waiting(driver: Driver, gathering: SharedSampler) -> None:
    for _ in range(3):
        await shared(driver, gathering, 1)
    assert driver.started == 3


async def test_who_does_not_ask_again_is_not_waited_for_long(driver: Driver) -> None:
    sampler = SharedSampler(driver, gather_s=0.05)
    await shared(driver, sampler, 3)
    again = ask(sampler)
    async with asyncio.timeout(LONG_S):
        while driver.started == 1:  # noqa: ASYNC110 - the driver under test tells nobody
            await asyncio.sleep(0.001)
    await driver.finish()
    assert number(await again) == 2
