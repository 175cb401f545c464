"""The machine that runs the test, with real containers in a containerd of the test's own."""

from __future__ import annotations

import asyncio
import subprocess
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.containerd import Containerd
from nodeagent.containers.runtime import ContainerRuntime
from nodeagent.gpus.sample import Moment
from nodeagent.processes.proc import ProcTable
from nodeagent.processes.table import ProcessTable
from tests.contract.container_nodes import Made
from tests.realparts import cgroups
from tests.realparts.containerd import Container
from tests.realparts.containerd import Containerd as RealContainerd
from tests.realparts.objects import PodIdentity


class RealNode:
    """The machine that runs the test, with containers in a containerd of the test's own."""

    def __init__(self, containerd: RealContainerd) -> None:
        self._containerd = containerd
        self._made: dict[ContainerId, Container] = {}
        self._children: list[subprocess.Popen[bytes]] = []
        self.runtime: ContainerRuntime = Containerd(containerd.socket)
        self.table: ProcessTable = ProcTable()
        self.run("other")

    def now(self) -> Moment:
        return Moment(time.time(), time.clock_gettime(time.CLOCK_BOOTTIME))

    def run(self, name: str = "main", *, shape: str = "") -> tuple[Made, Made]:
        pod, shape = _real_pod(), shape or cgroups.BURSTABLE
        sandbox = self._containerd.run_sandbox(pod, cgroup=shape)
        container = self._containerd.run_container(pod, name, cgroup=shape)
        return self._keep(sandbox), self._keep(container)

    def run_foreign(self) -> Made:
        # As Docker's are: known to the same daemon, in another namespace.
        return self._keep(
            self._containerd.run_container(
                _real_pod(), "blender", cgroup=cgroups.DOCKER, namespace="moby"
            )
        )

    def host_process(self) -> Pid:
        child = subprocess.Popen(["sleep", "infinity"])
        self._children.append(child)
        return Pid(child.pid)

    def end(self, container: Made) -> None:
        self._containerd.kill(self._made[container.id])
        while any(self.table.read(pid) is not None for pid in container.pids):
            time.sleep(0.005)

    def delete(self, container: Made) -> None:
        self._containerd.delete_container(self._made.pop(container.id))

    @contextmanager
    def stuck(self, container: Made) -> Iterator[None]:
        with self._containerd.stuck_shim(self._made[container.id]):
            yield

    async def stop_runtime(self) -> None:
        await asyncio.to_thread(self._containerd.stop)

    async def start_runtime(self) -> None:
        await asyncio.to_thread(self._containerd.start)

    async def close(self) -> None:
        await self.runtime.close()
        for child in self._children:
            child.kill()
            child.wait()
        for container in self._made.values():
            self._containerd.delete_container(container)

    def _keep(self, container: Container) -> Made:
        made = Made(
            ContainerId(container.id), container.pod, tuple(Pid(pid) for pid in container.pids)
        )
        self._made[made.id] = container
        return made


@asynccontextmanager
async def real_node(containerd: RealContainerd) -> AsyncIterator[RealNode]:
    node = RealNode(containerd)
    try:
        yield node
    finally:
        await node.close()


def _real_pod() -> PodIdentity:
    name = f"train-{uuid.uuid4().hex[:6]}"
    return PodIdentity("team", name, str(uuid.uuid4()))
