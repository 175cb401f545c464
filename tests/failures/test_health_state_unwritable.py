"""The state cannot be written: it is told with what it means, and GPUs are watched all the same."""

from pathlib import Path

from nodeagent.health.memory import Memory
from nodeagent.health.state import StateFolder
from tests.driverprocess import FIRST
from tests.fakedriver.faults import Event
from tests.healthwatch import unfit, watching


async def test_gpus_are_watched_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the folder's place")
    async with watching(tmp_path, state=True) as watched:
        watched.fake.post(Event.xid(FIRST, 79))
        await watched.until(unfit)
        (problem,) = watched.monitor.problems
        assert f"{tmp_path / 'state'} cannot be written (File exists)" in problem
        assert "lost at a restart of the agent" in problem


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    folder.load()
    assert folder.save(Memory()) == ""
    before = (tmp_path / "health.json").read_bytes()
    (tmp_path / "health.new").mkdir()
    assert "cannot be written" in folder.save(Memory())
    assert (tmp_path / "health.json").read_bytes() == before
    (tmp_path / "health.new").rmdir()
    assert folder.save(Memory()) == ""
    folder.close()
