"""A board is replaced: the new one has the index of its place, and is judged afresh."""

from dataclasses import replace
from pathlib import Path

from nodeagent.health.observations import Word
from tests.driverprocess import FIRST, SECOND, TWO_GPUS
from tests.fakedriver.scenario import RemappedRows, Scenario
from tests.healthwatch import unfit, watching

NEW = "GPU-99999999-0000-4000-8000-000000000009"


def with_new_board(scenario: Scenario) -> Scenario:
    new = replace(TWO_GPUS.gpus[0], uuid=NEW)
    return replace(scenario, gpus=(new, scenario.gpus[1]))


async def test_the_new_one_is_fit_under_the_old_index(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        failed = RemappedRows(uncorrectable=1, failure=True)
        watched.fake.change(lambda now: now.with_gpu(FIRST, remapped_rows=failed))
        await watched.until(unfit)
    watched.fake.change(with_new_board)
    async with watching(tmp_path, state=True, fake=watched.fake) as after:
        await after.readings()
        assert [(each.index, each.uuid, each.fit) for each in after.verdicts] == [
            (0, NEW, True),
            (1, SECOND, True),
        ]


async def test_an_exclusion_stays_with_the_place(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        watched.monitor.exclude(0, Word("anna", "bad riser", 1_800_000_000.0))
    watched.fake.change(with_new_board)
    async with watching(tmp_path, state=True, fake=watched.fake) as after:
        await after.readings()
        assert (after.verdicts[0].uuid, after.verdicts[0].fit) == (NEW, False)
