"""The real source of GPU samples on the fake NVIDIA driver, for tests of whatever can go wrong."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from nodeagent.gpus.driver import DriverProcess
from nodeagent.gpus.retry import BackOff
from nodeagent.gpus.sample import Gpu as SampledGpu
from nodeagent.gpus.sample import GpuSample
from tests.fakedriver.build import Variant
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.scenario import Gpu, Process, Scenario

AMPLE_S = 60.0
"""A limit that no test means to reach."""
SHORT_LIMIT_S = 0.3
"""A call's limit in tests of calls that exceed it."""

TWO_GPUS = Scenario((Gpu.number(0, Process(4_000_101)), Gpu.number(1, Process(4_000_111))))
FIRST, SECOND = (gpu.uuid for gpu in TWO_GPUS.gpus)


@dataclass
class Sampling:
    """A driver process, and the fake driver behind it."""

    fake: FakeDriver
    source: DriverProcess

    async def sample(self, deadline_s: float = AMPLE_S) -> GpuSample:
        return await self.source.sample(deadline_s)

    async def until(self, right: Callable[[GpuSample], bool]) -> GpuSample:
        """Sample until ``right``; the last sample is in the error if that takes too long."""
        sample = await self.sample()
        try:
            async with asyncio.timeout(AMPLE_S):
                while not right(sample):
                    await asyncio.sleep(0.01)
                    sample = await self.sample()
        except TimeoutError as error:
            raise TimeoutError(f"still not so: {sample}") from error
        return sample

    @property
    def child_pid(self) -> int:
        assert self.source._child is not None
        return self.source._child.pid


@asynccontextmanager
async def sampling(
    directory: Path,
    scenario: Scenario = TWO_GPUS,
    *,
    variant: Variant = Variant.CURRENT,
    limit_s: float = AMPLE_S,
    pause_s: float = 0.01,
    environment: dict[str, str] | None = None,
) -> AsyncIterator[Sampling]:
    """A driver process with the limit for each call, and that pause after a first failure."""
    fake = FakeDriver(directory, scenario, variant=variant)
    source = DriverProcess(
        limit_s,
        {**fake.environment({}), **(environment or {})},
        start_limit_s=AMPLE_S,
        back_off=BackOff(pause_s, 5 * pause_s),
    )
    try:
        yield Sampling(fake, source)
    finally:
        await source.close()


def is_whole(sample: GpuSample) -> bool:
    return sample.taken is not None and not sample.missing


def pids(gpu: SampledGpu) -> list[int]:
    return [process.pid for process in gpu.processes]


def uuids(sample: GpuSample) -> list[str]:
    return [gpu.uuid for gpu in sample.gpus]


def reason(sample: GpuSample) -> str:
    """The reason of the only thing that is missing."""
    (missing,) = sample.missing
    return missing.reason


def is_running(pid: int) -> bool:
    """Whether the process is there and not merely unreaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


async def ended(pid: int) -> None:
    """Returns when the process has ended."""
    async with asyncio.timeout(AMPLE_S):
        while is_running(pid):  # noqa: ASYNC110 - it is no child of ours that we could wait for
            await asyncio.sleep(0.01)
