"""The agent is killed while its child hangs in the driver: the child ends with it."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.driverprocess import TWO_GPUS, ended
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.faults import Fault

AGENT = """
import asyncio
from nodeagent.gpus.driver import DriverProcess

async def main():
    source = DriverProcess(60.0)
    asyncio.create_task(source.sample(60.0))
    while source._child is None:
        await asyncio.sleep(0.01)
    print(source._child.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_child_ends_with_the_agent(tmp_path: Path) -> None:
    hang = Fault.hangs("nvmlDeviceGetCount_v2")
    fake = FakeDriver(tmp_path, TWO_GPUS.with_faults(hang))
    agent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", AGENT), stdout=asyncio.subprocess.PIPE, env=fake.environment()
    )
    assert agent.stdout is not None
    child = int(await agent.stdout.readline())
    fake.wait_until_hanging("nvmlDeviceGetCount_v2")
    os.kill(agent.pid, signal.SIGKILL)
    await agent.wait()
    await ended(child)
