"""What any source of GPU samples does: the real driver process and the simulator's twin alike."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gpupods.identity import Pid
from nodeagent.gpus.sample import Gpu, GpuSample, MigMode, MissingKind, ProcessType
from tests.contract.gpu_nodes import AMPLE_S, FakeDriverNode, GpuNode, SimulatedNode

MIB = 1024 * 1024


@pytest.fixture(params=["driver", "simulated"])
async def node(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[GpuNode]:
    made: GpuNode = FakeDriverNode(tmp_path) if request.param == "driver" else SimulatedNode()
    yield made
    await made.source.close()


async def sample(node: GpuNode) -> GpuSample:
    return await node.source.sample(AMPLE_S)


async def whole(node: GpuNode) -> GpuSample:
    """Sampled until nothing is missing: a source may pause after a failure."""
    async with asyncio.timeout(AMPLE_S):
        while (taken := await sample(node)).missing:  # noqa: ASYNC110 - nothing tells us
            await asyncio.sleep(0.01)
    return taken


def row(gpu: Gpu, pid: Pid) -> tuple[tuple[ProcessType, ...], int | None, str | None]:
    (process,) = [process for process in gpu.processes if process.pid == pid]
    return process.types, process.used_memory_bytes, process.mig.uuid if process.mig else None


async def test_idle_gpus_are_all_there_by_index(node: GpuNode) -> None:
    taken = await sample(node)
    assert taken.missing == ()
    assert [gpu.index for gpu in taken.gpus] == [0, 1]
    assert len({gpu.uuid for gpu in taken.gpus}) == 2
    for gpu in taken.gpus:
        assert gpu.uuid.startswith("GPU-")
        assert gpu.name.startswith("NVIDIA")
        assert len(gpu.pci_address) == len("00000000:3B:00.0")
        assert gpu.memory_total_bytes is not None
        assert gpu.memory_used_bytes is not None
        assert gpu.memory_used_bytes <= gpu.memory_total_bytes
        assert gpu.processes == ()


async def test_identities_stay_from_sample_to_sample(node: GpuNode) -> None:
    first, second = await sample(node), await sample(node)
    for before, after in zip(first.gpus, second.gpus, strict=True):
        assert (before.uuid, before.name, before.pci_address, before.index) == (
            *(after.uuid, after.name, after.pci_address, after.index),
        )


async def test_the_moment_is_after_the_request_and_never_goes_back(node: GpuNode) -> None:
    before = time.time()
    first = (await sample(node)).taken
    second = (await sample(node)).taken
    assert first is not None
    assert second is not None
    assert before <= first.wall <= second.wall <= time.time()
    assert first.boot <= second.boot


async def test_a_process_is_listed_while_it_runs(node: GpuNode) -> None:
    await sample(node)
    pid = node.start(0, 512, ProcessType.COMPUTE)
    taken = await sample(node)
    assert row(taken.gpus[0], pid) == ((ProcessType.COMPUTE,), 512 * MIB, None)
    assert taken.gpus[1].processes == ()
    node.end(pid)
    assert (await sample(node)).gpus[0].processes == ()


async def test_lists_that_overlap_make_one_row_with_every_type(node: GpuNode) -> None:
    types = (ProcessType.COMPUTE, ProcessType.GRAPHICS, ProcessType.MPS)
    pid = node.start(0, 512, *types)
    assert row((await sample(node)).gpus[0], pid) == (types, 512 * MIB, None)


async def test_memory_that_the_driver_cannot_tell_is_unknown(node: GpuNode) -> None:
    pid = node.start(0, None, ProcessType.MPS)
    assert row((await sample(node)).gpus[0], pid) == ((ProcessType.MPS,), None, None)


async def test_rows_are_ordered_by_pid(node: GpuNode) -> None:
    pids = [node.start(0, 1, ProcessType.COMPUTE) for _ in range(5)]
    taken = await sample(node)
    assert [process.pid for process in taken.gpus[0].processes] == sorted(pids)


async def test_a_split_gpu_has_rows_by_mig_device_and_no_utilisation(node: GpuNode) -> None:
    first = node.start(1, 256, ProcessType.COMPUTE, mig=0)
    second = node.start(1, 512, ProcessType.COMPUTE, mig=1)
    taken = await sample(node)
    assert taken.missing == ()
    plain, split = taken.gpus
    assert (plain.mig_mode, split.mig_mode) == (MigMode.DISABLED, MigMode.ENABLED)
    assert plain.utilization_percent is not None
    assert split.utilization_percent is None
    assert [process.pid for process in split.processes] == [first, second]
    one, other = (process.mig for process in split.processes)
    assert one is not None
    assert other is not None
    assert one.uuid.startswith("MIG-")
    assert one.uuid != other.uuid
    assert one.gpu_instance != other.gpu_instance


async def test_a_lost_gpu_stays_by_its_identity_and_is_missed(node: GpuNode) -> None:
    node.start(0, 512, ProcessType.COMPUTE)
    pid = node.start(1, 512, ProcessType.COMPUTE, mig=0)
    before = await sample(node)
    node.lose(0)
    taken = await sample(node)
    assert taken.taken is not None
    assert [gpu.uuid for gpu in taken.gpus] == [gpu.uuid for gpu in before.gpus]
    assert taken.gpus[0].memory_total_bytes is taken.gpus[0].memory_used_bytes is None
    assert taken.gpus[0].processes == ()
    assert [process.pid for process in taken.gpus[1].processes] == [pid]
    (missing,) = taken.missing
    assert (missing.kind, missing.subject) == (MissingKind.GPU, before.gpus[0].uuid)
    assert "fallen off the bus" in missing.reason
    node.find(0)
    assert len((await whole(node)).gpus[0].processes) == 1


async def test_a_driver_that_hangs_is_told_within_the_deadline(node: GpuNode) -> None:
    before = await sample(node)
    node.start(0, 512, ProcessType.COMPUTE)
    node.hang()
    taken = await asyncio.wait_for(node.source.sample(0.1), AMPLE_S)
    assert taken.taken is None
    assert [gpu.uuid for gpu in taken.gpus] == [gpu.uuid for gpu in before.gpus]
    assert all(gpu.processes == () for gpu in taken.gpus)
    assert all(gpu.memory_used_bytes is None for gpu in taken.gpus)
    (missing,) = taken.missing
    assert (missing.kind, missing.subject) == (MissingKind.DRIVER, "")
    assert "driver" in missing.reason
    node.heal()
    assert len((await whole(node)).gpus[0].processes) == 1


async def test_a_driver_never_reached_leaves_no_gpus_and_a_reason(node: GpuNode) -> None:
    node.unload()
    taken = await sample(node)
    assert taken.taken is None
    assert taken.gpus == ()
    (missing,) = taken.missing
    assert (missing.kind, missing.subject) == (MissingKind.DRIVER, "")
    node.heal()
    assert len((await whole(node)).gpus) == 2


async def test_requests_at_the_same_moment_are_all_answered(node: GpuNode) -> None:
    pid = node.start(0, 512, ProcessType.COMPUTE)
    taken = await asyncio.gather(*(sample(node) for _ in range(10)))
    assert [[process.pid for process in each.gpus[0].processes] for each in taken] == [[pid]] * 10


async def test_a_cancelled_request_spoils_no_other(node: GpuNode) -> None:
    impatient = asyncio.create_task(sample(node))
    await asyncio.sleep(0)
    impatient.cancel()
    assert len((await sample(node)).gpus) == 2
