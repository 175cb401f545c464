"""A device plugin under test: on a simulated node and kubelet, and a simulated API server."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER, PREDICATE_TIME
from gpupods.identity import PodRef
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from nodeagent.deviceplugin.plugin import DevicePlugin
from nodeagent.deviceplugin.pod_api import PodApi
from nodeagent.deviceplugin.pods import GPU_ASSIGNED
from nodeagent.deviceplugin.sockets import KubeletFolder, PodResources
from nodeagent.deviceplugin.terms import DevicePluginMode, HealthReport, Terms
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.state import StateFolder
from simulator.apiserver.server import SimulatedApiServer
from simulator.changes import add_gpu, add_node
from simulator.gpus import SimulatedGpus
from simulator.health import SimulatedHealth, node_clock
from simulator.kubelet import SimContainer, SimulatedKubelet
from simulator.model import Cluster

Json = dict[str, Any]

NODE = "gpu-1"
MEMORY_MIB = (24_000, 80_000)
"""Of the node's GPUs: not alike, so that none is counted with another's."""
UNIT_MIB = 1_000
SHARE = Terms(DevicePluginMode.SHARE, HealthReport.AUTO, UNIT_MIB)
NUMBER = Terms(DevicePluginMode.NUMBER, HealthReport.AUTO, UNIT_MIB)
LOOK_S = 0.02
DEADLINE_S = 20.0


async def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait for ``condition``, which is sure to come."""
    ends = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < ends, what or "it has not come about"
        await asyncio.sleep(0.005)


@dataclass(frozen=True)
class Wanted:
    """A pod as a test wants it: its containers' limits, in order, and what a scheduler wrote."""

    name: str
    limits: Mapping[str, Mapping[str, int]]
    index: str | None
    time_ns: int | None = 1
    init: Sequence[str] = ()
    sidecars: Sequence[str] = ()
    namespace: str = "team"
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def ref(self) -> PodRef:
        return PodRef(self.namespace, self.name)

    @property
    def containers(self) -> list[SimContainer]:
        """As the kubelet goes through them."""
        return [
            SimContainer(name, dict(limits), init=name in self.init)
            for name, limits in self.limits.items()
        ]

    @property
    def object(self) -> Json:
        """As the API server has it while it is pending."""
        annotations = {GPU_INDEX: self.index} if self.index is not None else {}
        if self.time_ns is not None:
            annotations[PREDICATE_TIME] = str(self.time_ns)
        listed = {name: self._container(name) for name in self.limits}
        early = [*self.init, *self.sidecars]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "uid": self.uid,
                "annotations": annotations,
            },
            "spec": {
                "nodeName": NODE,
                "initContainers": [listed[name] for name in listed if name in early],
                "containers": [listed[name] for name in listed if name not in early],
            },
            "status": {"phase": "Pending"},
        }

    def _container(self, name: str) -> Json:
        limits = {resource: str(count) for resource, count in self.limits[name].items()}
        policy = {"restartPolicy": "Always"} if name in self.sidecars else {}
        return {"name": name, "image": "x", "resources": {"limits": limits}, **policy}


def sharing(name: str, units: int, index: str | None, time_ns: int | None = 1) -> Wanted:
    """A pod of one container that shares a GPU."""
    return Wanted(name, {"main": {GPU_MEMORY: units}}, index, time_ns)


def owning(name: str, gpus: int, index: str | None, time_ns: int | None = 1) -> Wanted:
    """A pod of one container with whole GPUs."""
    return Wanted(name, {"main": {GPU_NUMBER: gpus}}, index, time_ns)


class Bed:
    """The parts, each of which a test may break."""

    def __init__(
        self, folder: Path, terms: Terms, memory_mib: Sequence[int], look_for_s: float
    ) -> None:
        self.terms = terms
        self.look_for_s = look_for_s
        self.cluster = Cluster(random.Random(1))
        self.node = add_node(self.cluster, NODE, ["127.0.0.1"])
        for mib in memory_mib:
            add_gpu(self.cluster, self.node, "A GPU", mib)
        self.server = SimulatedApiServer(self.cluster)
        self.folder = folder / "plugins"
        self.folder.mkdir()
        self.state = folder / "state"
        self.kubelet = SimulatedKubelet(self.folder, folder / "resources.sock")
        self.gpus = SimulatedGpus(self.node, time.time)
        self.resources = PodResources(folder / "resources.sock")
        self._sources = [SimulatedHealth(self.node, interval_s=LOOK_S, rarely_s=LOOK_S)]
        self.monitor = self._monitor()

    def _monitor(self) -> HealthMonitor:
        now = node_clock(self.node, time.time)
        return HealthMonitor(self._sources, folder=StateFolder(self.state), now=now)

    async def start(self, *, kubelet: bool = True) -> None:
        await self.server.start()
        self.api = KubeApi(KubeAccess.without_credentials(self.server.url))
        if kubelet:
            await self.kubelet.start()
        await self.start_plugin()

    async def stop(self) -> None:
        await self.stop_plugin()
        await self.kubelet.stop()
        await self.api.close()
        await self.server.stop()

    async def start_plugin(self) -> None:
        """A new one, as after a restart of the agent."""
        await self.monitor.start()
        self.plugin = DevicePlugin(
            monitor=self.monitor,
            sample=self.gpus.sample,
            pods=PodApi(self.api, NODE),
            folder=KubeletFolder(self.folder),
            resources=self.resources,
            terms=self.terms,
            state_dir=self.state,
            look_every_s=LOOK_S,
            unwatched_s=0.5,
            look_for_s=self.look_for_s,
        )
        await self.plugin.start()

    async def stop_plugin(self) -> None:
        await self.plugin.stop()
        await self.monitor.stop()

    async def restart_plugin(self) -> None:
        """The agent is another process then, with another monitor."""
        await self.stop_plugin()
        # Else what the kubelet asks next may still go to the one that is gone.
        await until(lambda: not any(self.kubelet.allocatable.values()))
        self.monitor = self._monitor()
        await self.start_plugin()

    async def until_offered(self) -> None:
        """Until the kubelet knows of all devices."""
        await until(lambda: set(self.kubelet.capacity) == {GPU_MEMORY, GPU_NUMBER})
        await until(lambda: all(self.kubelet.capacity.values()))
        shared = self.terms.mode is DevicePluginMode.SHARE
        given = (GPU_MEMORY, GPU_NUMBER) if shared else (GPU_NUMBER,)
        await until(lambda: all(self.kubelet.allocatable[each] for each in given))

    def uuid(self, index: int) -> str:
        return self.node.gpus[index].uuid

    # Pods

    def bind(self, *pods: Wanted) -> None:
        """A scheduler has chosen this node for them."""
        for pod in pods:
            self.server.store.put("pods", pod.object)

    def annotations(self, pod: Wanted) -> dict[str, str]:
        stored = self.server.store.get("pods", str(pod.ref))
        assert stored is not None
        return dict(stored.object["metadata"].get("annotations") or {})

    def is_assigned(self, pod: Wanted) -> bool:
        return self.annotations(pod).get(GPU_ASSIGNED) == "true"

    async def run(self, pod: Wanted) -> dict[str, dict[str, str]]:
        """Let the kubelet run it. Raises PodRefusedError."""
        return await self.kubelet.run_pod(pod.ref, pod.containers)


@asynccontextmanager
async def bed(
    terms: Terms = SHARE,
    memory_mib: Sequence[int] = MEMORY_MIB,
    *,
    kubelet: bool = True,
    offered: bool = True,
    look_for_s: float = 0.3,
) -> AsyncIterator[Bed]:
    """Started; with a kubelet, its devices are known to it, if they are to be ``offered``."""
    folder = Path(tempfile.mkdtemp(prefix="gp-"))  # sockets have short paths only
    try:
        made = Bed(folder, terms, memory_mib, look_for_s)
        await made.start(kubelet=kubelet)
        try:
            if kubelet and memory_mib and offered:
                await made.until_offered()
            yield made
        finally:
            await made.stop()
    finally:
        shutil.rmtree(folder)
