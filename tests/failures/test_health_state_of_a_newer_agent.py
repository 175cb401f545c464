"""The state file is of a newer agent: it is kept for that one, told, and GPUs are judged afresh."""

import json
from pathlib import Path

from nodeagent.health.memory import VERSION
from nodeagent.health.state import FILE
from tests.driverprocess import FIRST
from tests.fakedriver.faults import Event
from tests.healthwatch import unfit, watching


async def test_it_is_put_aside_whole(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    newer = json.dumps({"version": VERSION + 1, "gpus": {"by": "other means"}})
    (tmp_path / "state" / FILE).write_text(newer)
    async with watching(tmp_path, state=True) as watched:
        (problem,) = watched.monitor.problems
        assert f"it is of version {VERSION + 1}, and this agent knows versions up to" in problem
        watched.fake.post(Event.xid(FIRST, 79))
        await watched.until(unfit)
    assert (tmp_path / "state" / "health.of-a-newer-agent.json").read_text() == newer
    assert json.loads((tmp_path / "state" / FILE).read_text())["version"] == VERSION
