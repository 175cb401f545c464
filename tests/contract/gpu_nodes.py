"""A node whose GPUs a test arranges, once behind the real driver process and once simulated.

Both start with two GPUs, the second split into two MIG devices.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from gpupods.identity import Pid
from nodeagent.gpus.driver import DriverProcess
from nodeagent.gpus.retry import BackOff
from nodeagent.gpus.sample import GpuSource, ProcessType
from simulator.changes import (
    add_gpu,
    add_node,
    kill_process,
    set_driver_fault,
    set_gpu_lost,
    split_gpu,
    start_host_process,
)
from simulator.gpus import SimulatedGpus
from simulator.kinds import DriverFault
from simulator.model import MIB, new_cluster
from simulator.plans import ProcessPlan, UsePlan
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.faults import Fault, NvmlReturn
from tests.fakedriver.scenario import Gpu, MigInstance, Process, ProcessKind, Scenario

AMPLE_S = 60.0
CALL_LIMIT_S = 0.5
KINDS = {
    ProcessType.COMPUTE: ProcessKind.COMPUTE,
    ProcessType.GRAPHICS: ProcessKind.GRAPHICS,
    ProcessType.MPS: ProcessKind.MPS,
}


class GpuNode(Protocol):
    """What a test may do to the node."""

    source: GpuSource

    def start(
        self, gpu: int, memory_mib: int | None, *types: ProcessType, mig: int | None = None
    ) -> Pid:
        """Have a process hold memory of a GPU, or of its MIG device of that index."""

    def end(self, pid: Pid) -> None:
        """End that process."""

    def lose(self, gpu: int) -> None:
        """Have the GPU fall off the bus."""

    def find(self, gpu: int) -> None:
        """Have it come back."""

    def hang(self) -> None:
        """Have the driver answer no call."""

    def unload(self) -> None:
        """Unload the driver."""

    def heal(self) -> None:
        """Have the driver answer again."""


class FakeDriverNode:
    """The real source, asking the real binding on a fake NVML library."""

    def __init__(self, directory: Path) -> None:
        parts = (MigInstance("MIG-part-0", 0, 7), MigInstance("MIG-part-1", 1, 8))
        gpus = (Gpu.number(0), Gpu.number(1, mig=True, mig_instances=parts))
        self._fake = FakeDriver(directory, Scenario(gpus))
        self._next_pid = 4_000_000
        self.source: GpuSource = DriverProcess(
            CALL_LIMIT_S,
            self._fake.environment({}),
            start_limit_s=AMPLE_S,
            back_off=BackOff(0.01, 0.05),
        )

    def start(
        self, gpu: int, memory_mib: int | None, *types: ProcessType, mig: int | None = None
    ) -> Pid:
        self._next_pid += 1
        kinds = ProcessKind(sum(KINDS[type_] for type_ in types))
        memory = None if memory_mib is None else memory_mib * MIB
        process = Process(self._next_pid, memory, kinds)
        self._change(gpu, lambda now: _with_process(now, process, mig))
        return Pid(self._next_pid)

    def end(self, pid: Pid) -> None:
        for gpu in range(len(self._fake.scenario.gpus)):
            self._change(gpu, lambda now: _without_process(now, pid))

    def lose(self, gpu: int) -> None:
        self._change(gpu, lambda now: replace(now, lost=True))

    def find(self, gpu: int) -> None:
        self._change(gpu, lambda now: replace(now, lost=False))

    def hang(self) -> None:
        self._fake.change(lambda now: now.with_faults(Fault.hangs()))

    def unload(self) -> None:
        fault = Fault.returns(NvmlReturn.DRIVER_NOT_LOADED)
        self._fake.change(lambda now: now.with_faults(fault))

    def heal(self) -> None:
        self._fake.change(lambda now: now.with_faults())

    def _change(self, gpu: int, change: Callable[[Gpu], Gpu]) -> None:
        self._fake.change(lambda now: now.with_gpu(now.gpus[gpu].uuid, change))


def _with_process(gpu: Gpu, process: Process, mig: int | None) -> Gpu:
    if mig is None:
        return replace(gpu, processes=(*gpu.processes, process))
    parts = list(gpu.mig_instances)
    parts[mig] = replace(parts[mig], processes=(*parts[mig].processes, process))
    return replace(gpu, mig_instances=tuple(parts))


def _without_process(gpu: Gpu, pid: Pid) -> Gpu:
    def rest(processes: tuple[Process, ...]) -> tuple[Process, ...]:
        return tuple(process for process in processes if process.pid != pid)

    parts = (replace(part, processes=rest(part.processes)) for part in gpu.mig_instances)
    return replace(gpu, processes=rest(gpu.processes), mig_instances=tuple(parts))


class SimulatedNode:
    """The simulator's twin."""

    def __init__(self) -> None:
        self._cluster = new_cluster(seed=1)
        self._node = add_node(self._cluster, "gpu-1", ["127.0.0.1"])
        for _ in range(2):
            add_gpu(self._cluster, self._node, "NVIDIA H100 80GB HBM3", 81_559)
        split_gpu(self._cluster, self._node.gpus[1], 2)
        self.source: GpuSource = SimulatedGpus(self._node, self._cluster.now)

    def start(
        self, gpu: int, memory_mib: int | None, *types: ProcessType, mig: int | None = None
    ) -> Pid:
        plan = ProcessPlan("python", (UsePlan(gpu, memory_mib, types, mig),))
        return start_host_process(self._cluster, self._node, plan, "/user.slice").pid

    def end(self, pid: Pid) -> None:
        kill_process(self._node, pid)

    def lose(self, gpu: int) -> None:
        set_gpu_lost(self._node, gpu)

    def find(self, gpu: int) -> None:
        set_gpu_lost(self._node, gpu, lost=False)

    def hang(self) -> None:
        set_driver_fault(self._node, DriverFault.HANGS)

    def unload(self) -> None:
        set_driver_fault(self._node, DriverFault.NOT_LOADED)

    def heal(self) -> None:
        set_driver_fault(self._node, DriverFault.NONE)
