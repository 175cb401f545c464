"""A node whose GPUs fail as a test says, once behind the real source and once simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from nodeagent.gpus.retry import BackOff
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.policy_files import PolicyFiles
from nodeagent.health.sources.nvml_watch import NvmlWatch
from simulator import changes
from simulator.health import SimulatedHealth, node_clock
from simulator.kinds import DriverFault
from simulator.model import new_cluster
from tests.driverprocess import TWO_GPUS
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.faults import Event, Fault, NvmlReturn
from tests.fakedriver.scenario import EccErrors, RemappedRows
from tests.healthwatch import AMPLE_S, INTERVAL_S, QUICK

HANG_S = 0.4


class HealthNode(Protocol):
    """Two GPUs, and what a test may do to them."""

    monitor: HealthMonitor

    def xid(self, gpu: int, xid: int) -> None: ...

    def lose(self, gpu: int) -> None: ...

    def find(self, gpu: int) -> None: ...

    def ask_for_recovery(self, gpu: int, action: int) -> None: ...

    def fail_row_remap(self, gpu: int) -> None: ...

    def count_errors(self, gpu: int) -> None: ...

    def hang(self) -> None: ...

    def unload(self) -> None: ...

    def heal(self) -> None: ...


def quick_policy(directory: Path) -> PolicyFiles:
    file = directory / "policy.toml"
    file.write_text(QUICK)
    return PolicyFiles(file)


class FakeDriverHealthNode:
    """The real source, on a fake NVML library."""

    def __init__(self, directory: Path) -> None:
        self._fake = FakeDriver(directory / "driver", TWO_GPUS)
        source = NvmlWatch(
            INTERVAL_S,
            HANG_S,
            start_limit_s=AMPLE_S,
            environment=self._fake.environment({}),
            back_off=BackOff(0.01, 0.05),
        )
        self.monitor = HealthMonitor([source], quick_policy(directory))

    def xid(self, gpu: int, xid: int) -> None:
        self._fake.wait_until_hanging("nvmlEventSetWait_v2")
        self._fake.post(Event.xid(self._uuid(gpu), xid))

    def lose(self, gpu: int) -> None:
        self._fake.change(lambda now: now.with_gpu(self._uuid(gpu), lost=True))

    def find(self, gpu: int) -> None:
        self._fake.change(lambda now: now.with_gpu(self._uuid(gpu), lost=False))

    def ask_for_recovery(self, gpu: int, action: int) -> None:
        self._fake.change(lambda now: now.with_gpu(self._uuid(gpu), recovery_action=action))

    def fail_row_remap(self, gpu: int) -> None:
        rows = RemappedRows(uncorrectable=1, failure=True)
        self._fake.change(lambda now: now.with_gpu(self._uuid(gpu), remapped_rows=rows))

    def count_errors(self, gpu: int) -> None:
        ecc = EccErrors(volatile_uncorrected=1)
        self._fake.change(lambda now: now.with_gpu(self._uuid(gpu), ecc=ecc))

    def hang(self) -> None:
        self._fake.change(lambda now: now.with_faults(Fault.hangs()))

    def unload(self) -> None:
        fault = Fault.returns(NvmlReturn.DRIVER_NOT_LOADED)
        self._fake.change(lambda now: now.with_faults(fault))

    def heal(self) -> None:
        self._fake.change(lambda now: now.with_faults())

    @staticmethod
    def _uuid(gpu: int) -> str:
        return TWO_GPUS.gpus[gpu].uuid


class SimulatedHealthNode:
    """The simulator's twin."""

    def __init__(self, directory: Path) -> None:
        self._cluster = new_cluster(seed=1)
        self._node = changes.add_node(self._cluster, "gpu-1", ["127.0.0.1"])
        for _ in range(2):
            changes.add_gpu(self._cluster, self._node, "NVIDIA H100 80GB HBM3", 81_559)
        source = SimulatedHealth(self._node, interval_s=INTERVAL_S, rarely_s=INTERVAL_S)
        now = node_clock(self._node, self._cluster.now)
        self.monitor = HealthMonitor([source], quick_policy(directory), now=now)

    def xid(self, gpu: int, xid: int) -> None:
        changes.report_xid(self._cluster, self._node, gpu, xid)

    def lose(self, gpu: int) -> None:
        changes.set_gpu_lost(self._node, gpu)

    def find(self, gpu: int) -> None:
        changes.set_gpu_lost(self._node, gpu, lost=False)

    def ask_for_recovery(self, gpu: int, action: int) -> None:
        changes.ask_for_recovery(self._node, gpu, action)

    def fail_row_remap(self, gpu: int) -> None:
        changes.fail_row_remap(self._node, gpu)

    def count_errors(self, gpu: int) -> None:
        changes.raise_uncorrectable_errors(self._node, gpu)

    def hang(self) -> None:
        changes.set_driver_fault(self._node, DriverFault.HANGS)

    def unload(self) -> None:
        changes.set_driver_fault(self._node, DriverFault.NOT_LOADED)

    def heal(self) -> None:
        changes.set_driver_fault(self._node, DriverFault.NONE)
