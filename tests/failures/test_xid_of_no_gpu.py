"""An event names no GPU, as real drivers have been seen to send: no GPU is unfit for it."""

from pathlib import Path

from tests.driverprocess import FIRST
from tests.fakedriver.faults import Event
from tests.healthwatch import unfit, watching


async def test_it_makes_none_unfit_and_the_next_one_is_heard(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.post(Event.xid(None, 79))
        watched.fake.post(Event.xid(FIRST, 119))
        first, second = await watched.until(unfit)
        assert (first.xid, first.others, second.fit) == (119, (), True)
        await watched.readings()
        assert unfit(watched.verdicts) == [0]
