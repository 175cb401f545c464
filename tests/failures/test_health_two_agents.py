"""Two agents on one node: the second leaves the state to the first, says so, and watches too."""

from pathlib import Path

from nodeagent.health.state import FILE
from tests.driverprocess import FIRST, SECOND
from tests.fakedriver.faults import Event
from tests.fakedriver.scenario import RemappedRows
from tests.healthwatch import unfit, watching


async def test_the_second_writes_nothing_until_the_first_has_gone(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as first:
        first.fake.post(Event.xid(FIRST, 142))
        await first.until(unfit)
        async with watching(tmp_path, state=True, fake=first.fake) as second:
            (problem,) = second.monitor.problems
            assert "another node agent has" in problem
            assert first.monitor.problems == ()
            failed = RemappedRows(uncorrectable=1, failure=True)
            second.fake.change(lambda now: now.with_gpu(SECOND, remapped_rows=failed))
            await second.until(unfit)
            await first.until(lambda them: unfit(them) == [0, 1])
    async with watching(tmp_path, state=True, fake=first.fake) as third:
        assert unfit(third.verdicts) == [0, 1]
        assert third.monitor.problems == ()
    assert (tmp_path / "state" / FILE).exists()
