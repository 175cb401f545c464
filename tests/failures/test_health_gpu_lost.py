"""A GPU is lost, or listed no more: it is unfit under its index, and comes back by itself."""

from dataclasses import replace
from pathlib import Path

from tests.driverprocess import FIRST, SECOND, TWO_GPUS
from tests.fakedriver.faults import Event
from tests.healthwatch import unfit, watching


async def test_a_lost_one_is_unfit_at_once_and_its_neighbour_is_still_heard(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.change(lambda now: now.with_gpu(FIRST, lost=True))
        first, second = await watched.until(unfit)
        assert (first.index, first.uuid, second.fit) == (0, FIRST, True)
        assert first.reason.startswith("lost: the driver has lost the GPU")
        await watched.readings()
        watched.fake.post(Event.xid(SECOND, 79))
        await watched.until(lambda them: unfit(them) == [0, 1])
        assert watched.verdicts[1].xid == 79


async def test_waiting_for_events_does_not_spin_over_it(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.change(lambda now: now.with_gpu(FIRST, lost=True))
        await watched.until(unfit)
        before = watched.fake.count("nvmlEventSetWait_v2").finished
        await watched.readings(5)
        assert watched.fake.count("nvmlEventSetWait_v2").finished - before < 15


async def test_one_that_is_listed_no_more_is_missing_and_shifts_nobody(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.change(lambda now: now.with_gpu(FIRST, lost=True, enumerated=False))
        first, second = await watched.until(unfit)
        assert (first.uuid, first.index, second.uuid, second.index) == (FIRST, 0, SECOND, 1)
        assert first.reason.startswith("missing: ")
        watched.fake.post(Event.xid(SECOND, 79))
        await watched.until(lambda them: unfit(them) == [0, 1])


async def test_it_is_fit_again_when_it_has_been_back_for_a_while(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.change(lambda now: now.with_gpu(FIRST, lost=True))
        await watched.until(unfit)
        watched.fake.change(lambda now: now.with_gpu(FIRST, lost=False))
        recovering, _ = await watched.until(lambda them: them[0].standing.value == "recovering")
        assert not recovering.fit
        await watched.until(lambda them: not unfit(them))


async def test_one_lost_before_it_was_ever_seen_does_not_give_its_index_away(
    tmp_path: Path,
) -> None:
    lost = replace(TWO_GPUS, gpus=(replace(TWO_GPUS.gpus[0], lost=True), TWO_GPUS.gpus[1]))
    async with watching(tmp_path, lost) as watched:
        assert [(each.index, each.uuid) for each in watched.verdicts] == [(1, SECOND)]
        watched.fake.change(lambda now: now.with_gpu(FIRST, lost=False))
        them = await watched.until(lambda them: len(them) == 2)
        assert [(each.index, each.uuid) for each in them] == [(0, FIRST), (1, SECOND)]
