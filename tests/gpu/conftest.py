"""The real driver of this machine; without one, every test here is skipped with the reason."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from nodeagent.gpus.driver import DriverProcess
from nodeagent.gpus.sample import GpuSample

AMPLE_S = 60.0


async def _look() -> GpuSample:
    source = DriverProcess(AMPLE_S, start_limit_s=AMPLE_S)
    try:
        return await source.sample(AMPLE_S)
    finally:
        await source.close()


@pytest.fixture(scope="session")
def machine() -> GpuSample:
    """What the driver of this machine says before the tests begin."""
    sample = asyncio.run(_look())
    if not sample.gpus:
        pytest.skip(f"no NVIDIA GPU: {'; '.join(entry.reason for entry in sample.missing)}")
    return sample


@pytest.fixture
async def source(machine: GpuSample) -> AsyncIterator[DriverProcess]:
    """The real source on the real driver."""
    made = DriverProcess(AMPLE_S, start_limit_s=AMPLE_S)
    yield made
    await made.close()
