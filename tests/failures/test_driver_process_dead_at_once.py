"""The process that asks the driver has ended before it is asked, on the loop that servers run on.

uvloop raises RuntimeError from writing to a pipe that the process has left, where asyncio's own
loop lets the reader notice. Found end to end: a question just after the start was INTERNAL.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop

from nodeagent.gpus.child import Child, ChildDiedError
from tests.driverprocess import is_whole, sampling


def test_a_child_that_has_ended_says_how() -> None:
    async def ask_the_dead() -> None:
        child = await Child.start({})
        os.kill(child.pid, signal.SIGKILL)
        await child.ended()
        with pytest.raises(ChildDiedError, match="SIGKILL"):
            await child.ask(60.0)

    uvloop.run(ask_the_dead())


def test_it_is_replaced_unseen(tmp_path: Path) -> None:
    async def ask_before_and_after() -> None:
        async with sampling(tmp_path) as driver:
            await driver.sample()
            child = driver.source._child
            assert child is not None
            os.kill(child.pid, signal.SIGKILL)
            await child._process.wait()
            assert is_whole(await driver.sample())

    uvloop.run(ask_before_and_after())


def test_grpcs_fork_handlers_are_off_in_the_agent() -> None:
    """They can end a child between its fork and its first instruction."""
    asked = "import nodeagent.agent, os; print(os.environ['GRPC_ENABLE_FORK_SUPPORT'])"
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GRPC_")}
    done = subprocess.run(
        [sys.executable, "-c", asked], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0"
