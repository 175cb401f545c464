"""A node with the simulator's containers, asked through its twins or through containerd's API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.containerd import Containerd
from nodeagent.containers.runtime import ContainerRuntime
from nodeagent.gpus.sample import Moment
from nodeagent.processes.table import ProcessTable
from simulator.changes import (
    add_node,
    delete_pod,
    exit_container,
    set_runtime_fault,
    start_host_process,
    start_other_container,
    start_pod,
    stick_shim,
)
from simulator.kinds import CgroupShape, ContainerKind, RuntimeFault
from simulator.model import SimContainer, SimPod, new_cluster
from simulator.plans import ContainerPlan, PodPlan, ProcessPlan
from simulator.processes import SimulatedProcessTable
from simulator.runtime import SimulatedRuntime
from tests.containerdservices import ContainerdServices
from tests.contract.container_nodes import Made
from tests.realparts.objects import PodIdentity


class SimulatedNode:
    """The simulator's twins of runtime and process table."""

    def __init__(self, shape: CgroupShape = CgroupShape.SYSTEMD_V2) -> None:
        self.cluster = new_cluster(seed=3)
        self.node = add_node(self.cluster, "gpu-1", ["127.1.0.1"], cgroup_shape=shape)
        self.runtime: ContainerRuntime = SimulatedRuntime(self.node)
        self.table: ProcessTable = SimulatedProcessTable(self.node)
        self._pods: dict[ContainerId, SimPod] = {}
        self.run("other")

    def now(self) -> Moment:
        wall = self.cluster.now()
        return Moment(wall, self.node.uptime_s(wall))

    def run(self, name: str = "main", *, shape: str = "") -> tuple[Made, Made]:
        processes = tuple(ProcessPlan(each) for each in ("sh", "sleep", "sh", "sleep"))
        plan = ContainerPlan(name, "busybox", processes)
        pod_name = f"train-{len(self.cluster.pods)}"
        # Old enough for its containers to have started by now.
        pod = start_pod(self.cluster, self.node, PodPlan("team", pod_name, (plan,), age_s=60.0))
        assert pod.sandbox is not None
        made = _made(pod.sandbox), _made(pod.containers[0])
        self._pods |= dict.fromkeys([each.id for each in made], pod)
        return made

    def run_foreign(self) -> Made:
        processes = [ProcessPlan("blender"), ProcessPlan("sh")]
        kind = ContainerKind.FOREIGN
        return _made(start_other_container(self.cluster, self.node, kind, "blender", processes))

    def host_process(self) -> Pid:
        plan, path = ProcessPlan("sleep"), "/user.slice/user-1000.slice"
        return start_host_process(self.cluster, self.node, plan, path).pid

    def end(self, container: Made) -> None:
        pod = self._pods[container.id]
        exit_container(self.cluster, pod, pod.containers[0].name)

    def delete(self, container: Made) -> None:
        delete_pod(self.cluster, self._pods[container.id])

    @contextmanager
    def stuck(self, container: Made) -> Iterator[None]:
        pod = self._pods[container.id]
        assert pod.sandbox is not None
        for each in (pod.sandbox, *pod.containers):
            stick_shim(each)
        yield
        for each in (pod.sandbox, *pod.containers):
            stick_shim(each, stuck=False)

    async def stop_runtime(self) -> None:
        set_runtime_fault(self.node, RuntimeFault.DOWN)

    async def start_runtime(self) -> None:
        set_runtime_fault(self.node, RuntimeFault.NONE)


class ServedNode(SimulatedNode):
    """The same, seen by the real client through containerd's API."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.daemon = ContainerdServices(self.node, folder / "containerd.sock")
        self.runtime = Containerd(self.daemon.socket)

    async def stop_runtime(self) -> None:
        await self.daemon.stop()

    async def start_runtime(self) -> None:
        await self.daemon.start()


@asynccontextmanager
async def served_node(folder: Path) -> AsyncIterator[ServedNode]:
    node = ServedNode(folder)
    await node.daemon.start()
    try:
        yield node
    finally:
        await node.runtime.close()
        await node.daemon.stop()


def _made(container: SimContainer) -> Made:
    pod = container.pod
    identity = PodIdentity("", "", "")
    if pod is not None:
        identity = PodIdentity(pod.namespace, pod.name, pod.runtime_uid)
    return Made(container.id, identity, tuple(process.pid for process in container.processes))
