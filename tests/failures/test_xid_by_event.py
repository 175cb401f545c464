"""An XID comes as an NVML event: its GPU is unfit at once, and no other."""

from pathlib import Path

from tests.driverprocess import FIRST, SECOND
from tests.fakedriver.faults import Event
from tests.healthwatch import unfit, watching


async def test_only_the_gpu_that_it_names_is_unfit(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.post(Event.xid(SECOND, 79))
        _, second = await watched.until(unfit)
        assert unfit(watched.verdicts) == [1]
        assert (second.uuid, second.xid, second.source) == (SECOND, 79, "nvml")
        assert second.reason == "XID 79: the GPU has fallen off the bus"
        assert "restart the node" in second.action


async def test_an_applications_fault_makes_none_unfit(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.post(Event.xid(FIRST, 13), Event.xid(FIRST, 31), Event.xid(FIRST, 43))
        watched.fake.post(Event.xid(SECOND, 119))
        await watched.until(unfit)
        assert unfit(watched.verdicts) == [1]


async def test_several_at_once_are_all_told(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.post(Event.xid(FIRST, 79), Event.xid(FIRST, 48), Event.xid(SECOND, 62))
        first, _ = await watched.until(lambda them: unfit(them) == [0, 1] and bool(them[0].others))
        assert (first.xid, first.others) == (79, ("XID 48: an uncorrectable memory error",))


async def test_an_unknown_one_is_unfit_and_said_to_be_unknown(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.post(Event.xid(FIRST, 777))
        first, _ = await watched.until(unfit)
        assert first.reason == "XID 777: an XID that this table does not know"
        assert "NVIDIA's catalogue" in first.action
        await watched.until(lambda them: not unfit(them))
