"""How a GPU fails and comes back, step by step, as those see it who use the cluster's own doors.

The Kubernetes API, the controller's questions and its scheduler extender are asked over their
sockets; only the fault itself is put into the simulated truth. Printing is
`simulator.health_demonstration`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp
import msgspec

from gpupods import AsyncClient
from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY
from gpupods.client.gpu_list import GpuList
from gpupods.node_annotations import UNHEALTHY_IDS, parse_ids
from simulator.cluster import SimulatedCluster
from simulator.injection import Injection, inject
from simulator.model import SimNode

Json = dict[str, Any]

LIMIT_S = 10.0
"""For what should take milliseconds."""
NAMESPACE = "default"
SCHEDULER = "rehearsal"
SHARE_MIB = 4096
"""Of one GPU: what a pod of the rehearsal asks for."""


class StepError(Exception):
    """A step did not come to its end; in words."""


class Rehearsal:
    """One GPU of ``node``. Use it in ``async with``: the pods it made are deleted at the end."""

    def __init__(self, cluster: SimulatedCluster, node: SimNode) -> None:
        self._cluster = cluster
        self.node = node
        self._pods: list[str] = []
        self._session: aiohttp.ClientSession
        self._client: AsyncClient

    async def __aenter__(self) -> Self:
        """Open the connections."""
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=LIMIT_S))
        self._client = AsyncClient(str(self._cluster.grpc))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Delete the pods that were made, and close the connections."""
        try:
            while self._pods:
                with contextlib.suppress(StepError):  # it goes with the cluster, then
                    await self._ask("DELETE", f"{self._pods_path}/{self._pods.pop()}")
        finally:
            await self._client.close()
            await self._session.close()

    @property
    def _pods_path(self) -> str:
        return f"/api/v1/namespaces/{NAMESPACE}/pods"

    async def place(self, name: str) -> str:
        """Make a pod that asks for a part of a GPU, and have it scheduled to the node.

        Returns: the index that it was given, or why it was given none.

        Raises:
            StepError: the API server or the extender did something else.
        """
        limits = {GPU_MEMORY: str(SHARE_MIB)}
        container = {"name": "main", "image": "rehearsal", "resources": {"limits": limits}}
        spec = {"schedulerName": SCHEDULER, "containers": [container]}
        body = {"metadata": {"name": name}, "spec": spec}
        pod = await self._ask("POST", self._pods_path, body)
        self._pods.append(name)
        wanted = {"Pod": pod, "NodeNames": [self.node.name]}
        filtered = await self._schedule("filter", wanted)
        if not filtered.get("NodeNames"):
            refused = filtered.get("FailedNodes") or filtered.get("FailedAndUnresolvableNodes")
            return str(filtered.get("Error") or (refused or {}).get(self.node.name, "refused"))
        about = {"PodName": name, "PodNamespace": NAMESPACE, "PodUID": pod["metadata"]["uid"]}
        bound = await self._schedule("bind", about | {"Node": self.node.name})
        if bound.get("Error"):
            raise StepError(f"the extender did not bind {name}: {bound['Error']}")
        pod = await self._ask("GET", f"{self._pods_path}/{name}")
        return str(pod["metadata"].get("annotations", {}).get(GPU_INDEX, "none"))

    def inject(self, injection: Injection) -> None:
        """What `gpupods simulate inject` does."""
        inject(self._cluster.truth, injection)

    async def until_announced(
        self, change: Callable[[], None], index: int, *, unfit: bool
    ) -> float:
        """Make a change, and wait until the Node says of the GPU that it is ``unfit``, or is not.

        Returns: how long it took, in seconds, from the change to the watch's event.

        Raises:
            StepError: it does not say so in time.
        """
        limit_s = LIMIT_S if unfit else LIMIT_S + 2 * self.dwell_s
        async with self._watch() as annotations:
            begun = time.perf_counter()
            change()
            try:
                async with asyncio.timeout(limit_s):
                    async for told in annotations:
                        if (index in parse_ids(told.get(UNHEALTHY_IDS))[0]) is unfit:
                            return time.perf_counter() - begun
            except TimeoutError:
                pass
        wanted = "does not name" if unfit else "names"
        raise StepError(f"after {limit_s:g} s the Node {self.node.name} still {wanted} GPU {index}")

    @property
    def dwell_s(self) -> float:
        """How long a GPU must stay clean, by the agents' policy."""
        return self._cluster.agents.dwell_s

    @asynccontextmanager
    async def _watch(self) -> AsyncIterator[AsyncIterator[dict[str, str]]]:
        """The Node's annotations at each of its changes from now on."""
        path = f"{self._cluster.apiserver.url}/api/v1/nodes"
        query = {"fieldSelector": f"metadata.name={self.node.name}"}
        async with self._session.get(path, params=query) as response:
            version = (await response.json())["metadata"]["resourceVersion"]
        query |= {"watch": "1", "resourceVersion": version}
        endless = aiohttp.ClientTimeout(total=None)
        async with self._session.get(path, params=query, timeout=endless) as response:
            yield self._annotations(response)

    async def _annotations(self, response: aiohttp.ClientResponse) -> AsyncIterator[dict[str, str]]:
        async for line in response.content:
            event = msgspec.json.decode(line)
            if event["type"] in ("ADDED", "MODIFIED"):
                yield event["object"]["metadata"].get("annotations", {})

    async def gpus(self) -> GpuList:
        """What `gpupods gpu list` knows of the node.

        Raises:
            gpupods.GpuPodsError: it is not answered.
        """
        return await self._client.list_gpus([self.node.name])

    async def node_object(self) -> Json:
        """The Node."""
        return await self._ask("GET", f"/api/v1/nodes/{self.node.name}")

    async def events(self, enough: Callable[[list[Json]], bool]) -> list[Json]:
        """All events, once ``enough`` of them are there, or it has taken too long."""
        end = time.monotonic() + LIMIT_S
        while True:
            events: list[Json] = (await self._ask("GET", "/api/v1/events"))["items"]
            if enough(events) or time.monotonic() > end:
                return events
            await asyncio.sleep(0.02)

    async def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        return await self._json(method, self._cluster.apiserver.url + path, body)

    async def _schedule(self, verb: str, body: Json) -> Json:
        return await self._json("POST", f"http://{self._cluster.http}/scheduler/{verb}", body)

    async def _json(self, method: str, url: str, body: Json | None) -> Json:
        try:
            async with self._session.request(method, url, json=body) as response:
                answer: Json = await response.json()
        except (aiohttp.ClientError, TimeoutError) as error:
            why = str(error) or "no answer in time"
            raise StepError(f"{method} {url}: {why}") from error
        if not response.ok:
            raise StepError(f"{method} {url}: {response.status} {answer.get('message', '')}")
        return answer
