"""Processes start, end, and leave their pids to others."""

from __future__ import annotations

from collections.abc import Iterable

from gpupods.identity import Pid
from simulator.model import MIB, Cluster, GpuUse, SimContainer, SimNode, SimProcess, WallSeconds
from simulator.plans import ProcessPlan, UsePlan


def start_process(
    cluster: Cluster, node: SimNode, plan: ProcessPlan, container: SimContainer
) -> SimProcess:
    """Start another process in a running container, as a nested one would be."""
    return start(cluster, node, plan, container, started=cluster.now())


def start_host_process(
    cluster: Cluster, node: SimNode, plan: ProcessPlan, cgroup_path: str, *, age_s: float = 0.0
) -> SimProcess:
    """Start a process in no container, for example in ``/user.slice/user-1000.slice``."""
    started = WallSeconds(cluster.now() - age_s)
    return start(cluster, node, plan, None, started=started, cgroup_path=cgroup_path)


def start(
    cluster: Cluster,
    node: SimNode,
    plan: ProcessPlan,
    container: SimContainer | None,
    *,
    started: WallSeconds,
    cgroup_path: str = "",
) -> SimProcess:
    """Start a process under the node's next pid."""
    uses = uses_of(node, plan.uses)
    node.last_pid += cluster.random.randint(1, 40)
    pid = Pid(node.last_pid)
    process = SimProcess(
        pid, plan.name, WallSeconds(round(started, 2)), container, cgroup_path, uses
    )
    node.processes[process.pid] = process
    if container is not None:
        container.processes.append(process)
    return process


def uses_of(node: SimNode, plans: Iterable[UsePlan]) -> list[GpuUse]:
    """The planned holds on this node's own GPUs.

    Raises:
        IndexError: the node has no GPU or MIG device of that index.
    """
    return [_use(node, plan) for plan in plans]


def _use(node: SimNode, plan: UsePlan) -> GpuUse:
    gpu = node.gpus[plan.gpu]
    memory = None if plan.memory_mib is None else plan.memory_mib * MIB
    mig = None if plan.mig is None else gpu.mig_devices[plan.mig]
    return GpuUse(gpu.uuid, plan.types, memory, mig)


def kill_process(node: SimNode, pid: Pid, *, driver_forgets: bool = True) -> None:
    """End a process. Without ``driver_forgets`` the driver goes on listing it.

    Raises:
        KeyError: there is no such process.
    """
    process = node.processes[pid]
    if driver_forgets:
        forget(node, process)
    else:
        process.exited = True


def reuse_pid(cluster: Cluster, node: SimNode, pid: Pid, name: str, cgroup_path: str) -> SimProcess:
    """End the process ``pid``, and start another that has its pid and none of its holds."""
    forget(node, node.processes[pid])
    process = SimProcess(pid, name, cluster.now(), None, cgroup_path)
    node.processes[pid] = process
    return process


def forget(node: SimNode, process: SimProcess) -> None:
    """Take a process from the kernel's table and from the driver's lists."""
    node.processes.pop(process.pid, None)
    if process.container is not None and process in process.container.processes:
        process.container.processes.remove(process)
