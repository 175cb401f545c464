"""The supervisor on a driver that is well: one child, kept."""

import asyncio
from pathlib import Path

import msgspec

from gpupods.identity import GpuUuid, Pid
from nodeagent.gpus import wire
from nodeagent.gpus.sample import (
    Gpu,
    GpuProcess,
    GpuSample,
    MigDevice,
    MigMode,
    Missing,
    MissingKind,
    Moment,
    ProcessType,
)
from tests.driverprocess import ended, is_running, is_whole, sampling


async def test_one_child_serves_every_sample(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await asyncio.gather(*(driver.sample() for _ in range(20)))
        assert driver.fake.count("nvmlInitWithFlags").started == 1
        assert driver.fake.count("nvmlDeviceGetCount_v2").started == 20
        # What does not change is asked for once.
        assert driver.fake.count("nvmlDeviceGetUUID").started == 2


async def test_no_process_is_started_before_a_sample_is_asked_for(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await asyncio.sleep(0)
        assert driver.source._child is None


async def test_close_leaves_no_process(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        await driver.sample()
        child = driver.child_pid
        assert is_running(child)
        await driver.source.close()
        await ended(child)
        await driver.source.close()


async def test_memory_used_leaves_out_what_the_driver_keeps(tmp_path: Path) -> None:
    async with sampling(tmp_path) as driver:
        uuid = driver.fake.scenario.gpus[0].uuid
        driver.fake.change(lambda now: now.with_gpu(uuid, memory_used=5000, memory_reserved=600))
        sample = await driver.sample()
        assert is_whole(sample)
        assert sample.gpus[0].memory_used_bytes == 5000


def test_a_sample_survives_the_way_from_the_child() -> None:
    mig = MigDevice(1, 2, "MIG-ü")
    process = GpuProcess(Pid(7), (ProcessType.COMPUTE, ProcessType.MPS), 2**40, mig)
    unknown = GpuProcess(Pid(8), (ProcessType.GRAPHICS,), None)
    gpu = Gpu(
        3, GpuUuid("GPU-a"), "H100", "0:1", 2**36, None, 99, MigMode.ENABLED, (process, unknown)
    )
    sample = GpuSample(Moment(1.5, 2.25), (gpu,), (Missing(MissingKind.GPU, "gpu 1", "lost"),))
    for original in (sample, GpuSample(None, ())):
        assert msgspec.json.decode(wire.encode(original), type=GpuSample) == original
