"""A GPU fails one query: it stays, that part is unknown, and what failed is said."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nodeagent.gpus.sample import Gpu, MigMode, MissingKind
from tests.driverprocess import FIRST, SECOND, TWO_GPUS, is_whole, pids, reason, sampling, uuids
from tests.fakedriver.faults import Fault, NvmlReturn

UNKNOWN_PART: dict[str, Callable[[Gpu], bool]] = {
    "nvmlDeviceGetName": lambda gpu: gpu.name == "",
    "nvmlDeviceGetPciInfo_v3": lambda gpu: gpu.pci_address == "",
    "nvmlDeviceGetMemoryInfo*": lambda gpu: (
        gpu.memory_total_bytes is None and gpu.memory_used_bytes is None
    ),
    "nvmlDeviceGetUtilizationRates": lambda gpu: gpu.utilization_percent is None,
    "nvmlDeviceGetMigMode": lambda gpu: gpu.mig_mode is MigMode.UNKNOWN,
    "nvmlDeviceGetComputeRunningProcesses_v3": lambda gpu: gpu.processes == (),
}


@pytest.mark.parametrize("function", UNKNOWN_PART)
async def test_the_rest_of_it_is_known(tmp_path: Path, function: str) -> None:
    fault = Fault.returns(NvmlReturn.UNKNOWN, function, gpu=FIRST)
    async with sampling(tmp_path, TWO_GPUS.with_faults(fault)) as driver:
        sample = await driver.sample()
        assert uuids(sample) == [FIRST, SECOND]
        failed, other = sample.gpus
        unknown = [part for part, is_unknown in UNKNOWN_PART.items() if is_unknown(failed)]
        assert unknown == [function]
        assert [part for part, is_unknown in UNKNOWN_PART.items() if is_unknown(other)] == []
        assert failed.processes_whole is ("RunningProcesses" not in function)
        assert other.processes_whole
        assert (sample.missing[0].kind, sample.missing[0].subject) == (MissingKind.GPU, FIRST)
        assert reason(sample).startswith(function.removesuffix("*").removesuffix("_v3"))
        assert "NVML_ERROR_UNKNOWN" in reason(sample)


async def test_the_next_sample_is_whole_once_it_answers(tmp_path: Path) -> None:
    fault = Fault.returns(NvmlReturn.UNKNOWN, "nvmlDeviceGetName", gpu=FIRST, times=1)
    async with sampling(tmp_path, TWO_GPUS.with_faults(fault)) as driver:
        assert (await driver.sample()).gpus[0].name == ""
        again = await driver.sample()
        assert is_whole(again)
        assert again.gpus[0].name == TWO_GPUS.gpus[0].name


async def test_one_that_will_not_tell_its_uuid_is_named_by_its_index(tmp_path: Path) -> None:
    fault = Fault.returns(NvmlReturn.UNKNOWN, "nvmlDeviceGetUUID", gpu=FIRST)
    async with sampling(tmp_path, TWO_GPUS.with_faults(fault)) as driver:
        sample = await driver.sample()
        assert uuids(sample) == [SECOND]
        assert sample.missing[0].subject == "gpu 0"


@pytest.mark.parametrize(
    "function",
    ["nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo*", "nvmlDeviceGetMigMode"],
)
async def test_what_a_gpu_does_not_support_is_unknown_and_nothing_is_missing(
    tmp_path: Path, function: str
) -> None:
    fault = Fault.returns(NvmlReturn.NOT_SUPPORTED, function, gpu=FIRST)
    async with sampling(tmp_path, TWO_GPUS.with_faults(fault)) as driver:
        sample = await driver.sample()
        assert is_whole(sample)
        assert UNKNOWN_PART[function](sample.gpus[0]) or (
            sample.gpus[0].mig_mode is MigMode.UNSUPPORTED
        )


@pytest.mark.parametrize("function", ["*Graphics*", "*MPS*"])
async def test_a_gpu_without_such_a_list_has_no_such_processes(
    tmp_path: Path, function: str
) -> None:
    fault = Fault.returns(NvmlReturn.NOT_SUPPORTED, function)
    async with sampling(tmp_path, TWO_GPUS.with_faults(fault)) as driver:
        sample = await driver.sample()
        assert is_whole(sample)
        assert pids(sample.gpus[0]) == [4_000_101]
        assert sample.gpus[0].processes_whole


async def test_a_list_that_fails_beside_others_is_told(tmp_path: Path) -> None:
    fault = Fault.returns(NvmlReturn.UNKNOWN, "*Graphics*", gpu=FIRST)
    async with sampling(tmp_path, TWO_GPUS.with_faults(fault)) as driver:
        sample = await driver.sample()
        assert pids(sample.gpus[0]) == [4_000_101]
        assert [gpu.processes_whole for gpu in sample.gpus] == [False, True]


async def test_a_gpu_that_lists_no_compute_processes_says_that_they_are_unknown(
    tmp_path: Path,
) -> None:
    fault = Fault.returns(NvmlReturn.NOT_SUPPORTED, "*ComputeRunning*", gpu=FIRST)
    async with sampling(tmp_path, TWO_GPUS.with_faults(fault)) as driver:
        sample = await driver.sample()
        assert "NVML_ERROR_NOT_SUPPORTED" in reason(sample)
        assert sample.missing[0].subject == FIRST
