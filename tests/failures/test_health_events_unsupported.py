"""GPUs that send no events are none the worse for it, and are watched by being read."""

from dataclasses import replace
from pathlib import Path

from tests.driverprocess import FIRST, SECOND, TWO_GPUS
from tests.fakedriver.faults import Event, EventType, Fault, NvmlReturn
from tests.fakedriver.scenario import Gpu, Scenario
from tests.healthwatch import unfit, watching


def silent(gpu: Gpu) -> Gpu:
    return replace(
        gpu, event_types=EventType(0), recovery_action=None, remapped_rows=None, ecc=None
    )


async def test_none_of_them_is_unfit_and_a_lost_one_is_noticed(tmp_path: Path) -> None:
    geforce = Scenario(tuple(map(silent, TWO_GPUS.gpus)))
    async with watching(tmp_path, geforce) as watched:
        await watched.readings()
        assert unfit(watched.verdicts) == []
        assert watched.monitor.problems == ()
        watched.fake.change(lambda now: now.with_gpu(FIRST, lost=True))
        first, _ = await watched.until(unfit)
        assert first.reason.startswith("lost: ")


async def test_one_among_others_does_not_keep_their_events_away(tmp_path: Path) -> None:
    async with watching(tmp_path, TWO_GPUS.with_gpu(FIRST, silent)) as watched:
        watched.fake.post(Event.xid(SECOND, 79))
        await watched.until(unfit)
        assert unfit(watched.verdicts) == [1]


async def test_a_driver_without_the_call_makes_none_unfit(tmp_path: Path) -> None:
    fault = Fault.returns(NvmlReturn.NOT_SUPPORTED, "nvmlDeviceRegisterEvents")
    async with watching(tmp_path, TWO_GPUS.with_faults(fault)) as watched:
        await watched.readings()
        assert unfit(watched.verdicts) == []
