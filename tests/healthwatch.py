"""The health of a fake driver's GPUs, watched by the real source, to see what can go wrong."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from nodeagent.gpus.retry import BackOff
from nodeagent.health.condition import Now
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.node_clock import node_now
from nodeagent.health.observations import HealthSource
from nodeagent.health.policy_files import PolicyFiles
from nodeagent.health.sources.nvml_watch import NvmlWatch
from nodeagent.health.state import StateFolder
from nodeagent.health.verdict import Verdict
from tests.driverprocess import TWO_GPUS
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.scenario import Scenario

AMPLE_S = 60.0
"""A limit that no test means to reach."""
INTERVAL_S = 0.1
SHORT_HANG_S = 0.4
QUICK = "[recovery]\ndwell_s = 0.4\nlongest_dwell_s = 60\nclean_readings = 2\n"
"""An operator's policy that lets a GPU be fit again soon."""


@dataclass
class Watching:
    """A monitor, and the fake driver that it watches."""

    fake: FakeDriver
    monitor: HealthMonitor
    nvml: NvmlWatch

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return self.monitor.verdicts

    async def until(self, right: Callable[[tuple[Verdict, ...]], object]) -> tuple[Verdict, ...]:
        """Wait until the verdicts are so."""
        return await until_verdicts(self.monitor, right)

    async def readings(self, many: int = 3) -> None:
        """Wait for that many readings of all GPUs that begin now or later."""
        done = self.fake.count("nvmlDeviceGetCount_v2").finished
        async with asyncio.timeout(AMPLE_S):
            while self.fake.count("nvmlDeviceGetCount_v2").finished < done + many + 1:  # noqa: ASYNC110 - in another process
                await asyncio.sleep(0.01)


async def until_verdicts(
    monitor: HealthMonitor, right: Callable[[tuple[Verdict, ...]], object]
) -> tuple[Verdict, ...]:
    try:
        async with asyncio.timeout(AMPLE_S):
            while not right(monitor.verdicts):  # noqa: ASYNC110 - a poll is a test's own
                await asyncio.sleep(0.005)
    except TimeoutError as error:
        raise TimeoutError(f"still not so: {monitor.verdicts}") from error
    return monitor.verdicts


@asynccontextmanager
async def watching(
    directory: Path,
    scenario: Scenario = TWO_GPUS,
    *,
    hang_limit_s: float = AMPLE_S,
    policy: str = QUICK,
    fake: FakeDriver | None = None,
    sources: Iterable[HealthSource] = (),
    state: bool = False,
    now: Callable[[], Now] = node_now,
) -> AsyncIterator[Watching]:
    """From the first reading on. ``state``: what is known is kept in the folder's ``state``."""
    fake = fake or FakeDriver(directory / "driver", scenario)
    operators = directory / "policy.toml"
    operators.write_text(policy)
    nvml = NvmlWatch(
        INTERVAL_S,
        hang_limit_s,
        start_limit_s=AMPLE_S,
        expected=lambda: len(scenario.gpus),
        environment=fake.environment({}),
        back_off=BackOff(0.01, 0.05),
    )
    folder = StateFolder(directory / "state") if state else None
    monitor = HealthMonitor([nvml, *sources], PolicyFiles(operators), folder, now)
    await monitor.start()
    watched = Watching(fake, monitor, nvml)
    try:
        await watched.readings(1)
        yield watched
    finally:
        await monitor.stop()


def unfit(verdicts: tuple[Verdict, ...]) -> list[int]:
    """The indexes of those that nobody should be given."""
    return [verdict.index for verdict in verdicts if not verdict.fit]
