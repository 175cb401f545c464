"""The driver itself asks for a reset or a restart: unfit until it asks no more, and was heard."""

from pathlib import Path

import pytest

from tests.driverprocess import FIRST
from tests.fakedriver.faults import Event
from tests.fakedriver.scenario import EccErrors, RecoveryAction, RemappedRows
from tests.healthwatch import unfit, watching


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (RecoveryAction.GPU_RESET, "recovery action 1: the driver asks for a reset"),
        (RecoveryAction.NODE_REBOOT, "recovery action 2: the driver asks for a restart"),
        (42, "recovery action 42: recovery action 42, which this table does not know"),
    ],
)
async def test_it_is_unfit_for_that(tmp_path: Path, action: int, words: str) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.change(lambda now: now.with_gpu(FIRST, recovery_action=action))
        first, second = await watched.until(unfit)
        assert first.reason.startswith(words)
        assert second.fit


async def test_a_reset_ends_what_asks_for_one(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        watched.fake.post(Event.xid(FIRST, 119))
        await watched.until(unfit)
        await watched.readings(10)
        assert unfit(watched.verdicts) == [0], "well, and yet not reset"
        watched.fake.change(
            lambda now: now.with_gpu(FIRST, recovery_action=RecoveryAction.GPU_RESET)
        )
        await watched.until(lambda them: bool(them[0].others))
        watched.fake.change(lambda now: now.with_gpu(FIRST, recovery_action=RecoveryAction.NONE))
        await watched.until(lambda them: not unfit(them))


async def test_a_remap_that_failed_is_for_good_and_a_pending_one_is_fit(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        pending = RemappedRows(uncorrectable=1, pending=True)
        watched.fake.change(lambda now: now.with_gpu(FIRST, remapped_rows=pending))
        await watched.readings()
        assert unfit(watched.verdicts) == []
        failed = RemappedRows(uncorrectable=1, failure=True)
        watched.fake.change(lambda now: now.with_gpu(FIRST, remapped_rows=failed))
        first, _ = await watched.until(unfit)
        assert first.reason.startswith("row-remap-failure: ")
        assert first.action == "replace the board"


async def test_uncorrectable_errors_that_rise_make_it_unfit_for_a_while(tmp_path: Path) -> None:
    async with watching(tmp_path) as watched:
        ecc = EccErrors(volatile_uncorrected=1)
        watched.fake.change(lambda now: now.with_gpu(FIRST, ecc=ecc))
        first, _ = await watched.until(unfit)
        assert first.reason.startswith("uncorrectable-ecc: ")
        await watched.until(lambda them: not unfit(them))
