"""A MIG device fails a query: the others' processes are told, and what failed is said."""

from pathlib import Path

import pytest

from nodeagent.gpus.sample import Gpu as SampledGpu
from tests.driverprocess import FIRST, is_whole, reason, sampling
from tests.fakedriver.faults import Fault, NvmlReturn
from tests.fakedriver.scenario import Gpu, MigInstance, Process, Scenario

DEVICES = (
    MigInstance("MIG-a", 0, 7, processes=(Process(4_000_201),)),
    MigInstance("MIG-b", 2, 9, processes=(Process(4_000_202),)),
)
SPLIT = Scenario((Gpu.number(0, mig=True, mig_instances=DEVICES),))


def places(gpu: SampledGpu) -> dict[int, str | None]:
    return {process.pid: process.mig.uuid if process.mig else None for process in gpu.processes}


async def test_its_processes_are_found_in_the_gpus_own_list(tmp_path: Path) -> None:
    fault = Fault.returns(NvmlReturn.UNKNOWN, "nvmlDeviceGetComputeRunning*", gpu="MIG-a")
    async with sampling(tmp_path, SPLIT.with_faults(fault)) as driver:
        sample = await driver.sample()
        assert places(sample.gpus[0]) == {4_000_201: "MIG-a", 4_000_202: "MIG-b"}
        assert "ComputeRunningProcesses_v3 of MIG-a: NVML_ERROR_UNKNOWN" in reason(sample)
        assert sample.missing[0].subject == FIRST


@pytest.mark.parametrize("function", ["nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInst*"])
async def test_one_that_cannot_be_placed_leaves_its_processes_with_the_gpu(
    tmp_path: Path, function: str
) -> None:
    fault = Fault.returns(NvmlReturn.UNKNOWN, function, gpu="MIG-a")
    async with sampling(tmp_path, SPLIT.with_faults(fault)) as driver:
        sample = await driver.sample()
        assert places(sample.gpus[0]) == {4_000_201: None, 4_000_202: "MIG-b"}
        assert "Id of MIG device 0: NVML_ERROR_UNKNOWN" in reason(sample)


async def test_a_gpu_that_will_not_add_up_its_devices_is_whole_all_the_same(
    tmp_path: Path,
) -> None:
    async with sampling(tmp_path, SPLIT.with_gpu(FIRST, mig_aggregate=False)) as driver:
        sample = await driver.sample()
        assert is_whole(sample)
        assert places(sample.gpus[0]) == {4_000_201: "MIG-a", 4_000_202: "MIG-b"}


async def test_devices_destroyed_and_made_anew_are_followed(tmp_path: Path) -> None:
    async with sampling(tmp_path, SPLIT) as driver:
        await driver.sample()
        again = MigInstance("MIG-c", 0, 7, processes=(Process(4_000_203),))
        driver.fake.change(lambda now: now.with_gpu(FIRST, mig_instances=(again,)))
        sample = await driver.sample()
        assert is_whole(sample)
        assert places(sample.gpus[0]) == {4_000_203: "MIG-c"}
