"""A scheduler extender at work: a cache that a test fills, and an API server that takes bindings.

What the API server writes does not reach the cache by itself: a test says when the watch brings it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from controller.cache.cluster import NODES, PODS, ClusterCache
from controller.cache.gpus import GpuIndex
from controller.cache.reading import node_record, pod_record
from controller.extender.binding import Binder
from controller.extender.leadership import LeaderPod, Leadership
from controller.extender.service import (
    BIND,
    FILTER,
    PRIORITIZE,
    VOLCANO_PREDICATE,
    VOLCANO_PRIORITIZE,
    Extender,
)
from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER
from gpupods.identity import PodUid
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.kube.objects import Node, Pod
from gpupods.node_annotations import HEALTH, UNHEALTHY_IDS

Json = dict[str, Any]
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

CARD = 4096
HOLD_S = 60.0
LIMIT_S = 0.5
"""Of a binding: tests that wait for it in vain wait for so long."""

NAMESPACE = "team"


class BindingServer:
    """Binds pods as the API server does; a test puts its own answer in the place of the next."""

    def __init__(self) -> None:
        self.bound: dict[str, Json] = {}
        """Pod's name to the Binding that was carried out."""
        self.asked: list[Json] = []
        self.next_answers: deque[Answer] = deque()
        self.url = ""
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/api/v1/namespaces/{namespace}/pods/{name}/binding", self._asked)
        self._runner = web.AppRunner(app, shutdown_timeout=0.001, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"

    async def vanish(self) -> None:
        """Break all connections and refuse new ones."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _asked(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        return await (self.next_answers.popleft() if self.next_answers else self.bind)(request)

    async def bind(self, request: web.Request) -> web.StreamResponse:
        """A good answer: a pod is bound once."""
        name = request.match_info["name"]
        if name in self.bound:
            return refusal(409, f'pod {name} is already assigned to node "some-node"')
        self.bound[name] = await request.json()
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)

    async def bind_and_say_nothing(self, request: web.Request) -> web.StreamResponse:
        """Done, and the answer is lost."""
        await self.bind(request)
        return await hang(request)


async def hang(_: web.Request) -> web.StreamResponse:
    """Say nothing for as long as the client stays."""
    await asyncio.sleep(3600)
    raise AssertionError("nobody hung up")


def refusal(code: int, message: str) -> web.Response:
    status = {"kind": "Status", "status": "Failure", "code": code, "message": message}
    return web.json_response(status, status=code)


def refuse(code: int, message: str = "scripted") -> Answer:
    """Answer with an HTTP error."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return refusal(code, message)

    return answer


class Replicas:
    """The election as one replica sees it."""

    def __init__(self) -> None:
        self.is_leader = True
        self.leads_instead = ""

    def leads(self) -> bool:
        return self.is_leader

    def leader(self) -> str:
        return self.leads_instead

    def standing(self) -> str:
        return "this replica is a standby: controller-2 leads by the lease gpupods-system/lease"


class LeaderDouble(LeaderPod):
    """The leader's pod: notes what is passed on to it."""

    def __init__(self) -> None:
        self.passed_on: list[Json] = []
        self.failure: Exception | None = None

    async def bind(self, leader: str, body: bytes) -> bytes:
        self.passed_on.append({"leader": leader, **json.loads(body)})
        if self.failure is not None:
            raise self.failure
        return b'{"Error":""}'


class Extended:
    """What a test works with."""

    def __init__(self, server: BindingServer, *, settle_s: float = 0.0) -> None:
        self.server = server
        self.now = 1000.0
        self.stale = ""
        self.replicas = Replicas()
        self.leader_pod = LeaderDouble()
        self.follows = asyncio.Event()
        """Whether the API server is followed, once this replica begins to lead."""
        self.follows.set()
        self.cache = ClusterCache(GpuIndex(lambda: self.now, HOLD_S))
        self.cache.report_listed(PODS)
        self.cache.report_listed(NODES)
        self.api = KubeApi(KubeAccess.without_credentials(server.url))
        leadership = Leadership(self.replicas, settle_s, lambda: self.now, self._catch_up)
        binder = Binder(self.cache, self.api, leadership, lambda: self.stale, LIMIT_S)
        self.extender = Extender(self.cache, binder, leadership, self.leader_pod)
        self._pods: dict[str, Json] = {}

    async def _catch_up(self) -> None:
        await self.follows.wait()

    # What the watch brings

    def node(
        self,
        name: str = "node-1",
        *,
        gpus: int = 2,
        card: int = CARD,
        unhealthy: str | None = None,
        health: str | None = None,
    ) -> None:
        given = {UNHEALTHY_IDS: unhealthy, HEALTH: health}
        annotations = {key: value for key, value in given.items() if value is not None}
        capacity = {GPU_MEMORY: str(gpus * card), GPU_NUMBER: str(gpus)} if gpus else {}
        made = {
            "metadata": {"name": name, "uid": f"uid-{name}", "annotations": annotations},
            "status": {"capacity": capacity},
        }
        self.cache.put_node(node_record(msgspec.convert(made, Node)))

    def pod(self, name: str, *, memory: int = 0, number: int = 0, cached: bool = True) -> Json:
        """A pod that waits to be scheduled."""
        limits = {GPU_MEMORY: str(memory), GPU_NUMBER: str(number)}
        asked = {resource: limit for resource, limit in limits.items() if limit != "0"}
        made: Json = {
            "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"},
            "spec": {"containers": [{"name": "main", "resources": {"limits": asked}}]},
            "status": {"phase": "Pending"},
        }
        if cached:
            self._put(made)
        return made

    def _put(self, pod: Json) -> None:
        self._pods[pod["metadata"]["name"]] = pod
        self.cache.put_pod(pod_record(msgspec.convert(pod, Pod)))

    def show(self, name: str) -> None:
        """The cache hears of what was bound."""
        binding = self.server.bound[name]
        pod = self._pods[name]
        annotations = binding["metadata"]["annotations"]
        self._put(
            {
                "metadata": {**pod["metadata"], "annotations": annotations},
                "spec": {**pod["spec"], "nodeName": binding["target"]["name"]},
                "status": pod["status"],
            }
        )

    def delete(self, name: str) -> None:
        """The cache hears that the pod is gone."""
        self.cache.remove_pod(PodUid(f"uid-{name}"))

    # What schedulers ask

    async def post(self, path: str, body: bytes) -> tuple[int, Any]:
        status, answer = await self.extender.posts()[path].answer(body)
        return status, json.loads(answer)

    async def filter(self, pod: Json, *nodes: str) -> Json:
        asked = {"Pod": pod, "Nodes": None, "NodeNames": nodes or ("node-1",)}
        status, answer = await self.post(FILTER, json.dumps(asked).encode())
        assert status == 200
        result: Json = answer
        return result

    async def prioritize(self, pod: Json, *nodes: str) -> dict[str, int]:
        asked = {"Pod": pod, "Nodes": None, "NodeNames": nodes}
        status, answer = await self.post(PRIORITIZE, json.dumps(asked).encode())
        assert status == 200
        return {each["Host"]: each["Score"] for each in answer}

    async def predicate(self, pod: Json, node: str = "node-1") -> Json:
        asked = {"task": {"Name": "t", "Pod": pod}, "node": {"Name": node, "Node": {}}}
        status, answer = await self.post(VOLCANO_PREDICATE, json.dumps(asked).encode())
        assert status == 200
        result: Json = answer
        return result

    async def volcano_prioritize(self, pod: Json, *nodes: str) -> Json:
        asked = {"task": {"Pod": pod}, "nodes": [{"Name": name} for name in nodes]}
        status, answer = await self.post(VOLCANO_PRIORITIZE, json.dumps(asked).encode())
        assert status == 200
        result: Json = answer
        return result

    async def bind(self, name: str, node: str = "node-1") -> str:
        """The error; "" where there is none."""
        asked = {
            "PodName": name,
            "PodNamespace": NAMESPACE,
            "PodUID": f"uid-{name}",
            "Node": node,
        }
        status, answer = await self.post(BIND, json.dumps(asked).encode())
        assert status == 200
        return str(answer["Error"])

    def given(self, name: str) -> str:
        """The annotation with which the API server has bound the pod."""
        return str(self.server.bound[name]["metadata"]["annotations"][GPU_INDEX])


@contextlib.asynccontextmanager
async def extending(*, settle_s: float = 0.0) -> AsyncIterator[Extended]:
    """An extender that leads and knows the cluster, which is empty."""
    server = BindingServer()
    await server.start()
    extended = Extended(server, settle_s=settle_s)
    try:
        yield extended
    finally:
        await extended.api.close()
        await server.vanish()
