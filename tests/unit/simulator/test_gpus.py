from __future__ import annotations

from nodeagent.gpus.sample import MigMode, MissingKind, ProcessType
from simulator.changes import add_node, kill_process, set_driver_fault, set_gpu_lost, split_gpu
from simulator.gpus import SimulatedGpus
from simulator.kinds import DriverFault
from simulator.model import MIB
from tests.unit.simulator.small import small


async def test_every_gpu_with_its_processes_and_memory() -> None:
    world = small()
    sample = await SimulatedGpus(world.node, world.cluster.clock).sample(1.0)
    assert [gpu.index for gpu in sample.gpus] == [0, 1]
    first, second = sample.gpus
    assert [process.used_memory_bytes for process in first.processes] == [1000 * MIB]
    assert [process.used_memory_bytes for process in second.processes] == [2000 * MIB, None]
    assert first.memory_used_bytes == (450 + 1000) * MIB
    assert second.processes[1].types == (ProcessType.COMPUTE, ProcessType.MPS)
    assert sample.missing == ()
    assert sample.taken is not None
    assert sample.taken.boot == 1_800_000_000.0 - world.node.booted


async def test_a_hang_lasts_until_the_deadline_and_is_told() -> None:
    world = small()
    gpus = SimulatedGpus(world.node, world.cluster.clock)
    set_driver_fault(world.node, DriverFault.HANGS)
    sample = await gpus.sample(0.02)
    assert sample.taken is None
    assert [part.kind for part in sample.missing] == [MissingKind.DRIVER]
    set_driver_fault(world.node, DriverFault.NONE)
    assert len((await gpus.sample(0.02)).gpus) == 2


async def test_a_driver_that_is_not_loaded_is_told_at_once() -> None:
    world = small()
    set_driver_fault(world.node, DriverFault.NOT_LOADED)
    sample = await SimulatedGpus(world.node, world.cluster.clock).sample(1.0)
    assert sample.gpus == ()
    assert "not loaded" in sample.missing[0].reason


async def test_a_lost_gpu_stays_listed_and_hides_no_other() -> None:
    world = small()
    set_gpu_lost(world.node, 0)
    sample = await SimulatedGpus(world.node, world.cluster.clock).sample(1.0)
    assert [gpu.memory_used_bytes is None for gpu in sample.gpus] == [True, False]
    assert [(part.kind, part.subject) for part in sample.missing] == [
        (MissingKind.GPU, world.node.gpus[0].uuid)
    ]


async def test_mig_leaves_the_utilisation_unknown() -> None:
    world = small()
    split_gpu(world.cluster, world.node.gpus[0], 3)
    sample = await SimulatedGpus(world.node, world.cluster.clock).sample(1.0)
    assert sample.gpus[0].mig_mode is MigMode.ENABLED
    assert sample.gpus[0].utilization_percent is None
    assert len({device.uuid for device in world.node.gpus[0].mig_devices}) == 3


async def test_a_node_without_gpus_says_why() -> None:
    world = small()
    bare = add_node(world.cluster, "cpu-1", ["127.1.0.2"])
    sample = await SimulatedGpus(bare, world.cluster.clock).sample(1.0)
    assert sample.gpus == ()
    assert "no NVIDIA driver" in sample.missing[0].reason


async def test_the_driver_may_list_a_process_that_the_kernel_has_forgotten() -> None:
    world = small()
    pid = world.pod.containers[0].processes[0].pid
    kill_process(world.node, pid, driver_forgets=False)
    sample = await SimulatedGpus(world.node, world.cluster.clock).sample(1.0)
    assert pid in {process.pid for process in sample.gpus[0].processes}


async def test_what_changes_after_the_sample_is_not_in_it() -> None:
    world = small()
    gpus = SimulatedGpus(world.node, world.cluster.clock)
    pid = world.pod.containers[0].processes[0].pid
    gpus.after_sample = lambda: kill_process(world.node, pid)
    sample = await gpus.sample(1.0)
    assert pid in {process.pid for process in sample.gpus[0].processes}
    assert pid not in world.node.processes
