"""A cluster's API server to be read from, and its objects to be changed: simulated and real.

Both are changed with the same JSON, so that what the reader makes of it can be compared.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Protocol

from gpupods.kube.access import KubeAccess
from simulator.apiserver.server import SimulatedApiServer
from tests.realparts import objects
from tests.realparts.apiserver import Apiserver
from tests.realparts.objects import ContainerStatus, Json


class KubeCluster(Protocol):
    """What a test does to a cluster. Names are the test's own; other objects may be there."""

    def access(self) -> KubeAccess:
        """The way in."""

    async def put_node(self, name: str, *internal_ips: str) -> None:
        """Register a node, or change its addresses."""

    async def delete_node(self, name: str) -> None:
        """Remove a node."""

    async def create_pod(self, pod: Json, *statuses: ContainerStatus) -> str:
        """Make a pod, running with ``statuses``; returns its uid."""

    async def set_containers(self, pod: Json, *statuses: ContainerStatus) -> None:
        """Report the containers of a pod."""

    async def delete_pod(self, pod: Json) -> None:
        """Delete a pod at once."""

    async def go_away(self) -> None:
        """Break connections and refuse new ones."""

    async def come_back(self) -> None:
        """Serve again, with the same objects."""


class SimulatedKubeCluster:
    """The simulator's API server; its objects are put into its store."""

    def __init__(self, server: SimulatedApiServer) -> None:
        self._server = server

    def access(self) -> KubeAccess:
        return KubeAccess.without_credentials(self._server.url)

    async def put_node(self, name: str, *internal_ips: str) -> None:
        known = self._server.store.get("nodes", name)
        node = objects.node(name, *internal_ips)
        node["metadata"]["uid"] = known.object["metadata"]["uid"] if known else str(uuid.uuid4())
        self._server.store.put("nodes", node)

    async def delete_node(self, name: str) -> None:
        self._server.store.remove("nodes", name)

    async def create_pod(self, pod: Json, *statuses: ContainerStatus) -> str:
        uid = str(uuid.uuid4())
        made = {"uid": uid} | pod["metadata"]
        status = objects.running(*statuses) if statuses else {"phase": "Pending"}
        self._server.store.put("pods", pod | {"metadata": made, "status": status})
        return uid

    async def set_containers(self, pod: Json, *statuses: ContainerStatus) -> None:
        known = self._server.store.get("pods", _key(pod))
        assert known is not None
        status = known.object["status"] | objects.running(*statuses)
        self._server.store.put("pods", known.object | {"status": status})

    async def delete_pod(self, pod: Json) -> None:
        self._server.store.remove("pods", _key(pod))

    async def go_away(self) -> None:
        await self._server.go_away()

    async def come_back(self) -> None:
        await self._server.come_back()


class RealKubeCluster:
    """A real kube-apiserver. Its client blocks, so it is called in threads."""

    def __init__(self, server: Apiserver) -> None:
        self._server = server

    def access(self) -> KubeAccess:
        return KubeAccess.load(str(self._server.kubeconfig))

    async def put_node(self, name: str, *internal_ips: str) -> None:
        def put() -> None:
            known = self._server.api.get("/api/v1/nodes")["items"]
            if any(node["metadata"]["name"] == name for node in known):
                self._server.api.set_addresses(name, *internal_ips)
            else:
                self._server.api.create_node(objects.node(name, *internal_ips))

        await asyncio.to_thread(put)

    async def delete_node(self, name: str) -> None:
        await asyncio.to_thread(self._server.api.delete_node, name)

    async def create_pod(self, pod: Json, *statuses: ContainerStatus) -> str:
        def create() -> str:
            self._server.api.create_namespace(pod["metadata"]["namespace"])
            return str(self._server.api.create_pod(pod, *statuses)["metadata"]["uid"])

        return await asyncio.to_thread(create)

    async def set_containers(self, pod: Json, *statuses: ContainerStatus) -> None:
        names = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        await asyncio.to_thread(self._server.api.set_containers, *names, *statuses)

    async def delete_pod(self, pod: Json) -> None:
        names = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        await asyncio.to_thread(self._server.api.delete_pod, *names)

    async def go_away(self) -> None:
        await asyncio.to_thread(self._server.stop)

    async def come_back(self) -> None:
        await asyncio.to_thread(self._server.start)


def _key(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
