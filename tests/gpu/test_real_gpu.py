"""The real driver process on a real GPU, with a process that really computes on it."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from nodeagent.gpus.driver import DriverProcess
from nodeagent.gpus.sample import Gpu, GpuSample, MigMode, ProcessType
from tests.gpu.conftest import AMPLE_S

pytestmark = pytest.mark.gpu

ALLOCATED_MIB = 256
MOST_PSS_KB = 60_000
INITIAL_PID_NAMESPACE = 0xEFFFFFFC
"""The inode number that the kernel gives it."""


@dataclass(frozen=True)
class Computing:
    """A process that computes on a GPU."""

    pid: int
    uuid: str
    allocated: int

    def gpu(self, sample: GpuSample) -> Gpu:
        """The GPU it computes on, itself or by one of its MIG devices."""
        for gpu in sample.gpus:
            migs = {row.mig.uuid for row in gpu.processes if row.mig is not None}
            if any(name.endswith(self.uuid) for name in (gpu.uuid, *migs)):
                return gpu
        raise AssertionError(f"{self.uuid} is on no GPU of {sample}")


@asynccontextmanager
async def computing(ordinal: int = 0) -> AsyncIterator[Computing]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.gpu.compute", str(ordinal), str(ALLOCATED_MIB)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        begun = json.loads(await process.stdout.readline())
        yield Computing(process.pid, begun["uuid"], begun["bytes"])
    finally:
        process.stdin.close()
        await process.wait()


async def until(source: DriverProcess, right: Callable[[GpuSample], bool]) -> GpuSample:
    async with asyncio.timeout(AMPLE_S):
        while not right(sample := await source.sample(AMPLE_S)):  # noqa: ASYNC110 - a driver
            await asyncio.sleep(0.05)
    return sample


@pytest.fixture
def node_pids() -> None:
    """The driver counts processes as the node does."""
    if Path("/proc/self/ns/pid").stat().st_ino != INITIAL_PID_NAMESPACE:
        pytest.skip("this pid namespace is not the node's own: run with --pid=host or hostPID")


async def test_every_part_of_every_gpu_is_known(source: DriverProcess) -> None:
    sample = await source.sample(AMPLE_S)
    assert sample.missing == ()
    for index, gpu in enumerate(sample.gpus):
        assert gpu.index == index
        assert gpu.uuid.startswith("GPU-")
        assert gpu.name
        assert gpu.pci_address
        assert (gpu.utilization_percent is None) == (gpu.mig_mode is MigMode.ENABLED)


def test_identities_are_those_of_nvidia_smi(machine: GpuSample) -> None:
    if shutil.which("nvidia-smi") is None:
        pytest.skip("nvidia-smi is not on this machine")
    said = subprocess.check_output(
        ("nvidia-smi", "--query-gpu=index,uuid,name,pci.bus_id", "--format=csv,noheader"), text=True
    )
    ours = [(str(gpu.index), gpu.uuid, gpu.name, gpu.pci_address) for gpu in machine.gpus]
    assert ours == [tuple(line.split(", ")) for line in said.splitlines()]


async def test_memory_of_a_process_is_in_its_gpus_memory(source: DriverProcess) -> None:
    before = await source.sample(AMPLE_S)
    async with computing() as process:
        sample = await source.sample(AMPLE_S)
        gpu = process.gpu(sample)
        used_before = before.gpus[gpu.index].memory_used_bytes
        assert gpu.memory_used_bytes is not None
        assert used_before is not None
        assert gpu.memory_used_bytes - used_before >= process.allocated


@pytest.mark.usefixtures("node_pids")
async def test_a_process_is_listed_with_its_memory_while_it_computes(source: DriverProcess) -> None:
    async with computing() as process:
        sample = await source.sample(AMPLE_S)
        (row,) = [row for row in process.gpu(sample).processes if row.pid == process.pid]
        assert ProcessType.COMPUTE in row.types
        assert row.used_memory_bytes is None or row.used_memory_bytes >= process.allocated
    await until(source, lambda now: all(process.pid not in _pids(gpu) for gpu in now.gpus))


@pytest.mark.usefixtures("node_pids")
async def test_two_processes_on_one_gpu_are_two_rows(source: DriverProcess) -> None:
    async with computing() as one, computing() as other:
        sample = await source.sample(AMPLE_S)
        assert {one.pid, other.pid} <= set(_pids(one.gpu(sample)))


async def test_utilisation_rises_while_something_computes(
    source: DriverProcess, machine: GpuSample
) -> None:
    if machine.gpus[0].mig_mode is MigMode.ENABLED:
        pytest.skip("MIG does not tell utilisation")
    async with computing() as process:
        await until(source, lambda now: (process.gpu(now).utilization_percent or 0) > 0)


async def test_the_child_stays_small(source: DriverProcess) -> None:
    await source.sample(AMPLE_S)
    assert source._child is not None
    kilobytes = memory_kb(source._child.pid)
    print(f"child on the real driver: Rss {kilobytes['Rss']} kB, Pss {kilobytes['Pss']} kB")
    assert kilobytes["Pss"] < MOST_PSS_KB


def memory_kb(pid: int) -> dict[str, int]:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) for line in rollup}


def _pids(gpu: Gpu) -> list[int]:
    return [row.pid for row in gpu.processes]
