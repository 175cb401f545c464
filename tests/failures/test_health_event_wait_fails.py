"""Waiting for events fails with an error: that is told, tried again with pauses, and no fault."""

from pathlib import Path

from tests.driverprocess import FIRST, TWO_GPUS
from tests.fakedriver.faults import Event, Fault, NvmlReturn
from tests.healthwatch import unfit, watching

FAULT = Fault.returns(NvmlReturn.UNKNOWN, "nvmlEventSetWait_v2")


async def test_it_is_not_taken_for_a_time_out(tmp_path: Path) -> None:
    async with watching(tmp_path, TWO_GPUS.with_faults(FAULT)) as watched:
        await watched.readings(5)
        assert "XIDs may go unseen by events: nvmlEventSetWait_v2" in watched.monitor.problems[0]
        assert unfit(watched.verdicts) == []
        waits = watched.fake.count("nvmlEventSetWait_v2").finished
        assert waits <= 3 * watched.fake.count("nvmlDeviceGetCount_v2").finished, "without a pause"


async def test_gpus_are_read_meanwhile(tmp_path: Path) -> None:
    async with watching(tmp_path, TWO_GPUS.with_faults(FAULT)) as watched:
        watched.fake.change(lambda now: now.with_gpu(FIRST, lost=True))
        await watched.until(unfit)
        assert unfit(watched.verdicts) == [0]


async def test_events_are_heard_when_it_works_again(tmp_path: Path) -> None:
    async with watching(tmp_path, TWO_GPUS.with_faults(FAULT)) as watched:
        await watched.readings()
        watched.fake.change(lambda now: now.with_faults())
        await watched.until(lambda _: watched.monitor.problems == ())
        watched.fake.post(Event.xid(FIRST, 79))
        await watched.until(unfit)
        assert watched.verdicts[0].xid == 79
