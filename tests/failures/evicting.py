"""An evictor at work on a simulated cluster, one turn at a time, on a clock that can be put on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from controller.channels import NodeChannels
from controller.eviction.decide import EvictionPolicy
from controller.eviction.edge import PodEvictions
from controller.eviction.evictor import Evictor
from controller.gpus.asking import NodeAsker
from gpupods.identity import NodeName, PodRef
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from simulator.changes import report_xid
from simulator.model import SimNode, SimPod
from tests.simulator.running import Running, patiently, running

AFTER_S = 600.0
ENOUGH_S = AFTER_S + 60.0

SERVING = "chat-"
"""A pod of a Deployment, on the GPU 1 of the first node; the other one there is a Job's."""
TRAINING = "llama-finetune-0"


@dataclass
class Clock:
    """The machine's, put on by hand."""

    ahead_s: float = 0.0

    def now(self) -> float:
        return time.time() + self.ahead_s

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("turns are taken by hand")


@dataclass
class Evicting:
    """A running cluster, and its evictor."""

    run: Running
    evictor: Evictor
    clock: Clock
    api: KubeApi
    hindered: list[str] = field(default_factory=list)
    """Why nobody may be evicted; empty: nothing hinders."""

    @property
    def node(self) -> SimNode:
        return self.run.node("gpu-a100-1")

    def pod(self, starts_with: str) -> SimPod | None:
        """A pod on the node whose GPUs turn unfit."""
        found = (p for p in self.run.truth.pods.values() if p.name.startswith(starts_with))
        return next((pod for pod in found if pod.node is self.node), None)

    async def make_unfit(self, *indexes: int, node: SimNode | None = None) -> None:
        """XID 79 on these GPUs, and wait until the controller has heard what its agent reports."""
        where = node or self.node
        for index in indexes:
            report_xid(self.run.truth, where, index, 79)
        wanted = ",".join(map(str, indexes))
        async for _ in patiently():
            known = self.run.cluster.controller.cache.node(NodeName(where.name))
            if known is not None and known.unhealthy_ids == wanted and known.gpu_health:
                return
        raise AssertionError(f"node {where.name} is not known to have {wanted} unfit")

    async def long_after(self) -> None:
        """The GPUs have been unfit for long enough, and it is looked once more."""
        await self.evictor.turn()
        await self.later(ENOUGH_S)

    async def later(self, seconds: float) -> None:
        """Some time has passed, and it is looked once more."""
        self.clock.ahead_s += seconds
        await self.evictor.turn()

    async def events(self, ref: PodRef) -> list[tuple[str, str]]:
        """Reason and message of each Event of the evictor's on the pod."""
        path = f"/api/v1/namespaces/{ref.namespace}/events"
        answer: dict[str, Any] = await self.api.ask("GET", path, limit_s=20)
        return [
            (item["reason"], item["message"])
            for item in answer["items"]
            if item["involvedObject"]["name"] == ref.name
            and item["source"]["component"] == "gpupods-controller"
        ]


@contextlib.asynccontextmanager
async def evicting(
    *,
    per_minute: int = 100,
    excluded: bool = False,
    pause_s: float = 60.0,
    asker: type[NodeAsker] = NodeAsker,
    edge: type[PodEvictions] = PodEvictions,
) -> AsyncIterator[Evicting]:
    """A cluster of the usual size, with nothing wrong yet."""
    async with running() as run:
        cache = run.cluster.controller.cache
        channels = NodeChannels(cache, run.cluster.agents.port or 1)
        api = KubeApi(KubeAccess.load(str(run.cluster.kubeconfig)))
        hindered: list[str] = []
        clock = Clock()
        evictor = Evictor(
            EvictionPolicy(AFTER_S, excluded=excluded, per_minute=per_minute, pause_s=pause_s),
            cache=cache,
            asker=asker(cache, channels),
            evictions=edge(api),
            why_not=lambda: "; ".join(hindered),
            clock=clock,
        )
        try:
            yield Evicting(run, evictor, clock, api, hindered)
        finally:
            await channels.close()
            await api.close()
