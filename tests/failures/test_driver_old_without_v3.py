"""Drivers before 510.39 have only the second version of the process lists, and it is used."""

from dataclasses import replace
from pathlib import Path

from nodeagent.gpus.sample import ProcessType
from tests.driverprocess import TWO_GPUS, is_whole, sampling
from tests.fakedriver.build import Variant
from tests.fakedriver.scenario import Gpu, Process, ProcessKind

OLD = replace(
    TWO_GPUS,
    driver_version="470.256.02",
    gpus=(
        Gpu.number(
            0,
            Process(4_000_101, kinds=ProcessKind.COMPUTE | ProcessKind.GRAPHICS),
            Process(4_000_102, memory=None, kinds=ProcessKind.MPS),
            memory_used=1024,
        ),
    ),
)


async def test_the_sample_is_whole(tmp_path: Path) -> None:
    async with sampling(tmp_path, OLD, variant=Variant.BEFORE_510) as driver:
        sample = await driver.sample()
        assert is_whole(sample)
        (gpu,) = sample.gpus
        assert gpu.memory_used_bytes == 1024
        both, client = gpu.processes
        assert both.types == (ProcessType.COMPUTE, ProcessType.GRAPHICS)
        assert client.types == (ProcessType.MPS,)
        assert client.used_memory_bytes is None
        assert driver.fake.count("nvmlDeviceGetComputeRunningProcesses_v2").started > 0
