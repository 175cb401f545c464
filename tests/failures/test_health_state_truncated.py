"""The state file is cut off or no such file: it is put aside, and that is told."""

from pathlib import Path

import pytest

from nodeagent.health.state import FILE, StateFolder
from tests.driverprocess import FIRST
from tests.fakedriver.faults import Event
from tests.healthwatch import unfit, watching


async def test_the_agent_starts_and_says_so(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        watched.fake.post(Event.xid(FIRST, 142))
        await watched.until(unfit)
    file = tmp_path / "state" / FILE
    file.write_bytes(file.read_bytes()[:200])
    async with watching(tmp_path, state=True, fake=watched.fake) as after:
        (problem,) = after.monitor.problems
        assert "health.json is not understood" in problem
        assert "put aside as health.unreadable.json" in problem
        assert "exclude again what was excluded" in problem
        assert unfit(after.verdicts) == []
        after.fake.post(Event.xid(FIRST, 142))
        await after.until(unfit)
    assert (tmp_path / "state" / "health.unreadable.json").stat().st_size == 200
    async with watching(tmp_path, state=True, fake=watched.fake) as last:
        assert unfit(last.verdicts) == [0]
        assert last.monitor.problems == ()


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[1]", b'{"version": 1}', b'{"version": "1"}', b"\xff\x00", b"null"]
)
def test_whatever_it_is_it_is_put_aside(tmp_path: Path, text: bytes) -> None:
    (tmp_path / FILE).write_bytes(text)
    folder = StateFolder(tmp_path)
    loaded = folder.load()
    folder.close()
    assert loaded.memory is None
    assert "put aside" in loaded.problem
    assert (tmp_path / "health.unreadable.json").read_bytes() == text


async def test_a_cause_that_is_none_is_no_reason_not_to_start(tmp_path: Path) -> None:
    async with watching(tmp_path, state=True) as watched:
        watched.fake.post(Event.xid(FIRST, 142))
        await watched.until(unfit)
    file = tmp_path / "state" / FILE
    file.write_text(file.read_text().replace('"142"', '"a hundred"'))
    async with watching(tmp_path, state=True, fake=watched.fake) as after:
        (problem,) = after.monitor.problems
        assert "'a hundred' is the name of no xid" in problem


def test_a_file_that_cannot_be_read_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()  # root may read all that a disk lets it
    folder = StateFolder(tmp_path)
    loaded = folder.load()
    folder.close()
    assert loaded.forgotten
    assert "health.json cannot be read (Is a directory); it was put aside" in loaded.problem
    assert (tmp_path / "health.unreadable.json").is_dir()
