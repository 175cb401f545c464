"""Containers start, restart and end, in pods and beside them."""

from __future__ import annotations

from collections.abc import Iterable

from simulator import names
from simulator.changes.processes import forget, start
from simulator.kinds import ContainerKind, ContainerState
from simulator.model import Cluster, GpuUse, SimContainer, SimNode, SimPod, Verb, WallSeconds
from simulator.plans import ContainerPlan, ProcessPlan

CLOCK_TICK_S = 0.01
"""As exactly as the kernel tells when a process began."""


def make_container(cluster: Cluster, pod: SimPod, plan: ContainerPlan) -> SimContainer:
    """Make a container of ``pod`` as planned; Pending while the pod has no node. Tells nobody."""
    container = SimContainer(
        id=names.container_id(cluster.random),
        name=plan.name,
        image=plan.image,
        kind=plan.kind,
        pod=pod,
        # A moment after the pod was made; nothing has been started in the future.
        started=WallSeconds(
            min(pod.created + cluster.random.uniform(1.0, 4.0), cluster.now() - CLOCK_TICK_S)
        ),
        state=plan.state,
        gpus_requested=plan.gpus,
        limits=dict(plan.limits),
        command=plan.command,
        waiting_reason=plan.waiting_reason,
        ports=dict(plan.ports),
    )
    if pod.node is None:
        container.state = ContainerState.WAITING
    elif plan.state is not ContainerState.WAITING:
        _place(pod.node, container)
    if pod.node is not None and container.state is ContainerState.RUNNING:
        for process in plan.processes:
            start(cluster, pod.node, process, container, started=container.started)
    return container


def restart_container(
    cluster: Cluster, pod: SimPod, name: str, *, old_lingers: bool = False
) -> SimContainer:
    """Restart a container: another id, other pids, the same holds.

    With ``old_lingers`` the old container's processes live on, as they do for a moment when a
    process takes long to die: their GPU memory is still held.
    """
    node, old = _running(pod, name)
    new = SimContainer(
        id=names.container_id(cluster.random),
        name=old.name,
        image=old.image,
        kind=old.kind,
        pod=pod,
        started=cluster.now(),
        restarts=old.restarts + 1,
        last_id=old.id,
        gpus_requested=old.gpus_requested,
        limits=old.limits,
        command=old.command,
        ports=old.ports,
    )
    _place(node, new)
    for process in old.processes:
        twin = start(cluster, node, ProcessPlan(process.name), new, started=new.started)
        twin.uses = [GpuUse(use.gpu, use.types, use.memory_bytes, use.mig) for use in process.uses]
    if old_lingers:
        old.state = ContainerState.TERMINATED
    else:
        remove_container(node, old)
    pod.containers[pod.containers.index(old)] = new
    cluster.tell(Verb.MODIFIED, pod)
    return new


def exit_container(cluster: Cluster, pod: SimPod, name: str, exit_code: int = 0) -> None:
    """End a container; the runtime keeps it, stopped, and no process of it is left."""
    node, container = _running(pod, name)
    for process in tuple(container.processes):
        forget(node, process)
    container.state = ContainerState.TERMINATED
    container.exit_code = exit_code
    node.generation += 1
    cluster.tell(Verb.MODIFIED, pod)


def add_ephemeral_container(cluster: Cluster, pod: SimPod, plan: ContainerPlan) -> SimContainer:
    """Add a debugging container to a running pod, as `kubectl debug` does."""
    if pod.node is None:
        raise ValueError(f"{pod.ref} runs on no node")
    container = make_container(cluster, pod, plan)
    container.kind = ContainerKind.EPHEMERAL
    container.started = cluster.now()
    pod.containers.append(container)
    cluster.tell(Verb.MODIFIED, pod)
    return container


def start_other_container(
    cluster: Cluster,
    node: SimNode,
    kind: ContainerKind,
    name: str,
    processes: Iterable[ProcessPlan],
) -> SimContainer:
    """Start a container that no pod has: FOREIGN (another runtime's), or BARE (the runtime's)."""
    container = SimContainer(
        id=names.container_id(cluster.random),
        name=name,
        image=name,
        kind=kind,
        pod=None,
        started=cluster.now(),
    )
    _place(node, container)
    for process in processes:
        start(cluster, node, process, container, started=container.started)
    return container


def _running(pod: SimPod, name: str) -> tuple[SimNode, SimContainer]:
    if pod.node is not None:
        for container in pod.containers:
            if container.name == name and container.state is ContainerState.RUNNING:
                return pod.node, container
    raise KeyError(f"{pod.ref} has no running container {name}")


def _place(node: SimNode, container: SimContainer) -> None:
    node.containers[container.id] = container
    node.generation += 1


def remove_container(node: SimNode, container: SimContainer) -> None:
    """Take a container and its processes from the node. Tells nobody."""
    for process in tuple(container.processes):
        forget(node, process)
    if node.containers.pop(container.id, None) is not None:
        node.generation += 1
