"""A cluster's API server to be written to by gpupods' own client: simulated and real."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from simulator.apiserver.server import SimulatedApiServer
from simulator.changes import add_node
from simulator.model import Cluster
from tests.realparts import objects
from tests.realparts.apiserver import Apiserver
from tests.realparts.objects import ContainerStatus


class Writable(Protocol):
    """A cluster, and what only its inside can do to it."""

    api: KubeApi

    async def add_node(self, name: str) -> None:
        """Register a node with a condition Ready, which is true."""

    async def protect(self, pod: str) -> None:
        """Let no pod of this name, in namespace default, be evicted; it runs by then."""


@dataclass
class SimulatedWritable:
    """The simulator's; its nodes and pods are the truth's."""

    server: SimulatedApiServer
    cluster: Cluster
    api: KubeApi

    async def add_node(self, name: str) -> None:
        add_node(self.cluster, name, ["10.0.0.1"])

    async def protect(self, pod: str) -> None:
        self.server.faults.protected.add(f"default/{pod}")


@dataclass
class RealWritable:
    """A real kube-apiserver. Its own client blocks, so it is called in threads."""

    server: Apiserver
    api: KubeApi
    nodes: list[str] = field(default_factory=list)

    async def add_node(self, name: str) -> None:
        self.nodes.append(name)
        await asyncio.to_thread(self.server.api.create_node, objects.node(name, "10.0.0.1"))

    async def protect(self, pod: str) -> None:
        await asyncio.to_thread(self._protect, pod)

    def _protect(self, pod: str) -> None:
        """As if the disruption controller had found that not one pod may go."""
        api = self.server.api
        api.patch(f"/api/v1/namespaces/default/pods/{pod}", {"metadata": {"labels": {"app": pod}}})
        api.set_containers("default", pod, ContainerStatus("main", f"id-of-{pod}"))
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        api.patch(f"/api/v1/namespaces/default/pods/{pod}/status", ready)
        budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": pod}}}
        made = api.post(budgets, {"metadata": {"name": pod}, "spec": spec})
        status = {"observedGeneration": made["metadata"]["generation"], "disruptionsAllowed": 0}
        status |= {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        api.patch(f"{budgets}/{pod}/status", {"status": status})


@asynccontextmanager
async def simulated() -> AsyncIterator[Writable]:
    """An API server in this process."""
    cluster = Cluster(random.Random(1))
    server = SimulatedApiServer(cluster)
    await server.start()
    api = KubeApi(KubeAccess.without_credentials(server.url))
    try:
        yield SimulatedWritable(server, cluster, api)
    finally:
        await api.close()
        await server.stop()


@asynccontextmanager
async def real(server: Apiserver) -> AsyncIterator[Writable]:
    """A running kube-apiserver. Its nodes go again: no agent is to be expected there by others."""
    api = KubeApi(KubeAccess.load(str(server.kubeconfig)))
    cluster = RealWritable(server, api)
    try:
        yield cluster
    finally:
        await api.close()
        for name in cluster.nodes:
            await asyncio.to_thread(server.api.delete_node, name)
