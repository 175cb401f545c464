"""The agent does not run for a while, frozen or starved: that is no driver that hangs."""

import os
import signal
import time
from pathlib import Path

import pytest

from nodeagent.health.verdict import Verdict
from tests.healthwatch import INTERVAL_S, unfit, watching

HANG_S = 1.0
"""A busy machine's child must not be taken for one that hangs here."""
LONGER_S = INTERVAL_S + HANG_S + 0.4


@pytest.mark.parametrize("child_too", [False, True], ids=["agent", "agent and its child"])
async def test_no_gpu_is_unfit_for_it(tmp_path: Path, *, child_too: bool) -> None:
    heard: list[tuple[Verdict, ...]] = []
    async with watching(tmp_path, hang_limit_s=HANG_S) as watched:
        child = watched.nvml.child_pid
        assert child is not None
        watched.monitor.subscribe(heard.append)
        if child_too:
            os.kill(child, signal.SIGSTOP)
        time.sleep(LONGER_S)  # noqa: ASYNC251 - that is what is tried here
        os.kill(child, signal.SIGCONT)
        await watched.readings(5)
        assert [unfit(them) for them in heard] == [[]]
        assert watched.nvml.child_pid == child
