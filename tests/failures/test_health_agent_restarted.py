"""The agent is restarted: what it knew it knows again, and indexes are as they were."""

import json
from pathlib import Path

from nodeagent.health.observations import Word
from nodeagent.health.state import FILE
from tests.driverprocess import FIRST, SECOND
from tests.fakedriver.faults import Event
from tests.fakedriver.scenario import RecoveryAction
from tests.healthwatch import unfit, watching


async def test_an_unfit_gpu_is_unfit_still_with_its_since(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        watched.fake.post(Event.xid(FIRST, 79))
        (before, _) = await watched.until(unfit)
    async with watching(tmp_path, state=True, fake=watched.fake) as after:
        await after.readings(10)
        assert unfit(after.verdicts) == [0]
        assert (after.verdicts[0].reason, after.verdicts[0].since_wall) == (
            before.reason,
            before.since_wall,
        )


async def test_a_gpu_that_is_missing_at_the_start_is_known(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        watched.fake.change(lambda now: now.with_gpu(FIRST, enumerated=False))
    async with watching(tmp_path, state=True, fake=watched.fake) as after:
        first, second = await after.until(unfit)
        assert (first.uuid, first.index, second.uuid, second.index) == (FIRST, 0, SECOND, 1)
        after.fake.change(lambda now: now.with_gpu(FIRST, enumerated=True))
        await after.until(lambda them: not unfit(them))


async def test_a_reset_while_the_agent_was_stopped_is_seen(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        watched.fake.post(Event.xid(FIRST, 119))
        watched.fake.change(
            lambda now: now.with_gpu(FIRST, recovery_action=RecoveryAction.GPU_RESET)
        )
        await watched.until(lambda them: bool(them[0].others))
    watched.fake.change(lambda now: now.with_gpu(FIRST, recovery_action=RecoveryAction.NONE))
    async with watching(tmp_path, state=True, fake=watched.fake) as after:
        await after.until(lambda them: not unfit(them))


async def test_an_operators_word_outlives_it(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        watched.monitor.exclude(1, Word("anna", "smells burnt", 1_800_000_000.0))
    async with watching(tmp_path, state=True, fake=watched.fake) as after:
        verdict = after.verdicts[1]
        assert (verdict.fit, verdict.who) == (False, "anna")
        assert verdict.reason == "excluded by anna: smells burnt"
        after.monitor.restore(1, Word("ben", "was the toaster", 1_800_000_100.0))
        assert unfit(after.verdicts) == []


async def test_the_file_is_written_when_something_changes_and_not_otherwise(
    tmp_path: Path,
) -> None:
    file = tmp_path / "state" / FILE
    async with watching(tmp_path, state=True) as watched:
        watched.fake.change(lambda now: now.with_gpu(FIRST, lost=True))
        await watched.until(unfit)
        await watched.until(lambda _: '"lost"' in file.read_text())
        written = file.stat()
        await watched.readings(10)
        assert file.stat().st_ino == written.st_ino
    gpus = json.loads(file.read_text())["memory"]["gpus"]
    assert [known["slot"]["uuid"] for known in gpus] == [FIRST, SECOND]
