"""A real Reporter on the simulated API server, fed by a test: to see what can go wrong."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from gpupods.identity import GpuUuid
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.kube.reflector import Pace
from gpupods.node_annotations import HEALTH, OVERRIDES, UNHEALTHY_IDS
from nodeagent.health.condition import Now
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.observations import (
    DriverRead,
    ListedGpu,
    Presence,
    Reading,
    XidOfGpu,
    XidSeen,
)
from nodeagent.health.state import StateFolder
from nodeagent.pods_on_gpus import PodsOnGpus
from nodeagent.reporting.own_node import CONDITION
from nodeagent.reporting.reporter import Reporter, ReportPace
from simulator.apiserver.server import SimulatedApiServer
from simulator.model import Cluster

Json = dict[str, Any]

NODE = "gpu-node"
AMPLE_S = 60.0
"""A limit that no test means to reach."""
QUICK = ReportPace(
    gather_s=0.01,
    first_pause_s=0.01,
    longest_pause_s=0.05,
    longest_contest_s=0.05,
    follow=Pace(watch_s=60, first_pause_s=0.01, longest_pause_s=0.05),
)
WALL = 1_800_000_000.0
WELL = Reading(Presence.PRESENT, 0)


@dataclass
class NodeClock:
    """The clocks of a node, moved by a test."""

    boot_s: float = 1000.0
    wall: float = WALL
    boot: str = "boot-1"

    def __call__(self) -> Now:
        return Now(self.boot, self.boot_s, self.wall)

    def advance(self, seconds: float) -> None:
        self.boot_s += seconds
        self.wall += seconds


def uuid_of(index: int) -> GpuUuid:
    return GpuUuid(f"GPU-{index}")


def listed(*readings: Reading) -> DriverRead:
    """All GPUs of a node, as read."""
    return DriverRead(
        tuple(
            ListedGpu(index, uuid_of(index), f"00000000:{index + 1:02X}:00.0", "H100", reading)
            for index, reading in enumerate(readings)
        )
    )


@dataclass
class Bed:
    """The API server and one node; what the Node carries, and what was asked of the server."""

    server: SimulatedApiServer = field(
        default_factory=lambda: SimulatedApiServer(Cluster(random.Random(1)))
    )
    clock: NodeClock = field(default_factory=NodeClock)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def access(self) -> KubeAccess:
        """The way to it."""
        return KubeAccess.without_credentials(self.server.url)

    @property
    def node(self) -> Json:
        stored = self.server.store.get("nodes", NODE)
        assert stored is not None
        return stored.object

    @property
    def annotations(self) -> dict[str, str]:
        return dict(self.node["metadata"].get("annotations") or {})

    @property
    def ids(self) -> str | None:
        return self.annotations.get(UNHEALTHY_IDS)

    @property
    def condition(self) -> Json | None:
        conditions = self.node["status"]["conditions"]
        return next((each for each in conditions if each["type"] == CONDITION), None)

    @property
    def patches(self) -> int:
        """How many patches of the Node have come."""
        return sum(each.startswith("PATCH /api/v1/nodes/") for each in self.server.requests)

    @property
    def events(self) -> list[Json]:
        return [each.object for each in self.server.store._objects["events"].values()]

    def make_node(self, **annotations: str) -> None:
        """Register the Node, anew if it was there."""
        metadata: Json = {"name": NODE, "uid": f"uid-{next(self._numbers)}"}
        if annotations:
            metadata["annotations"] = {NAMES[name]: text for name, text in annotations.items()}
        ready = {"type": "Ready", "status": "True"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        self.server.store.put("nodes", node | {"status": {"conditions": [ready]}})

    def annotate(self, **annotations: str | None) -> None:
        """As another tool, or an operator, does; None takes it away."""
        node = self.node
        kept = self.annotations | {NAMES[name]: text for name, text in annotations.items()}
        texts = {name: text for name, text in kept.items() if text is not None}
        metadata = node["metadata"] | {"annotations": texts}
        self.server.store.put("nodes", node | {"metadata": metadata})

    def heartbeat(self) -> None:
        """As the kubelet does: nothing changes but the version."""
        self.server.store.put("nodes", dict(self.node))

    def monitor(self, folder: StateFolder | None = None) -> HealthMonitor:
        return HealthMonitor(now=self.clock, folder=folder)

    async def until(self, right: Callable[[], object]) -> None:
        try:
            async with asyncio.timeout(AMPLE_S):
                while not right():  # noqa: ASYNC110 - a poll is a test's own
                    await asyncio.sleep(0.002)
        except TimeoutError as error:
            raise TimeoutError(f"still not so: {self.node}") from error

    async def until_ids(self, ids: str | None) -> None:
        await self.until(lambda: self.ids == ids)

    async def settled(self) -> None:
        """Whatever the reporter could want to write of what it knows, it has written."""
        await asyncio.sleep(20 * QUICK.gather_s)


NAMES = {"ids": UNHEALTHY_IDS, "health": HEALTH, "overrides": OVERRIDES}


def xid(number: int, index: int, at_s: float) -> XidOfGpu:
    return XidOfGpu(uuid_of(index), "", XidSeen(number, at_s, "nvml"))


@dataclass
class Agent:
    """What reports, and what it knows."""

    bed: Bed
    monitor: HealthMonitor
    reporter: Reporter

    async def follows(self) -> None:
        """Wait until the watch of the Node is open."""
        await self.bed.until(lambda: self.reporter._reflector.status.watches)

    def read(self, *readings: Reading) -> None:
        """The driver is read."""
        self.monitor.tell(listed(*(readings or (WELL, WELL))))

    def xid(self, number: int, index: int) -> None:
        self.monitor.tell(xid(number, index, self.bed.clock.boot_s))


@asynccontextmanager
async def bed(**annotations: str) -> AsyncIterator[Bed]:
    """An API server with a Node."""
    made = Bed()
    await made.server.start()
    made.make_node(**annotations)
    try:
        yield made
    finally:
        await made.server.stop()


@asynccontextmanager
async def reporting(
    bed: Bed,
    monitor: HealthMonitor | None = None,
    pods: PodsOnGpus | None = None,
    pace: ReportPace = QUICK,
    api: KubeApi | None = None,
) -> AsyncIterator[Agent]:
    """An agent's reporting from its start to its end. Nothing has been read yet."""
    api = api or KubeApi(bed.access)
    monitor = monitor or bed.monitor()
    await monitor.start()
    reporter = Reporter(api, NODE, monitor, pods=pods, pace=pace)
    await reporter.start()
    try:
        yield Agent(bed, monitor, reporter)
    finally:
        await reporter.stop()
        await monitor.stop()
        await api.close()
