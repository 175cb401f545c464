"""An API server that follows a script, and a reflector under test that follows the API server.

Left alone it is a good one: pages, watches that replay what came after a version, bookmarks when
told to. A test puts its own answer in the place of the next list or watch.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from controller.cache.cluster import ClusterCache
from controller.cache.informers import POD_RESOURCE, PodStore
from gpupods.identity import PodUid
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.kube.objects import Pod
from gpupods.kube.reflector import Pace, Reflector

Json = dict[str, Any]
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

DEADLINE_S = 20.0
WATCH_S = 30


def pod(name: str, *, uid: str = "", namespace: str = "team", **status: Any) -> Json:
    """A pod on node-1 with one running container."""
    uid = uid or f"uid-{name}"
    containers = [{"name": "main", "containerID": f"containerd://id-of-{uid}"}]
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": uid},
        "spec": {"nodeName": "node-1"},
        "status": {"phase": "Running", "containerStatuses": containers, **status},
    }


def status(code: int, reason: str, message: str = "scripted") -> Json:
    """An API server's error object."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }


def refuse(code: int, reason: str, headers: dict[str, str] | None = None) -> Answer:
    """Answer with an HTTP error."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(status(code, reason), status=code, headers=headers)

    return answer


def say_lines(*lines: bytes, then: Answer | None = None) -> Answer:
    """A watch that sends these lines and ends, or goes on as ``then`` does without its header."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = await _begin(request)
        for line in lines:
            await response.write(line + b"\n")
        if then is not None:
            await then(request)
        return response

    return answer


def say_events(*events: Json) -> Answer:
    """A watch that sends these events and ends."""
    return say_lines(*(json.dumps(event).encode() for event in events))


async def hang(_: web.Request) -> web.StreamResponse:
    """Say nothing for as long as the client stays."""
    await asyncio.sleep(3600)
    raise AssertionError("nobody hung up")


async def _begin(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    return response


@dataclass
class Asked:
    """The queries of the requests that came, in order."""

    lists: list[dict[str, str]] = field(default_factory=list)
    watches: list[dict[str, str]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.lists) + len(self.watches)


class ScriptedApiServer:
    """Serves pods at /api/v1/pods on loopback, and an empty list of nodes."""

    def __init__(self) -> None:
        self.asked = Asked()
        self.version = 100
        self.next_lists: deque[Answer] = deque()
        self.next_watches: deque[Answer] = deque()
        self.check: Callable[[web.Request], web.Response | None] = lambda _: None
        self.connections = 0
        self._pods: dict[str, Json] = {}
        self._history: list[tuple[int, Json]] = []
        self._news = asyncio.Condition()
        self._runner: web.AppRunner | None = None
        # Bound and not listening, it keeps the port ours while the server is away.
        self._place = _bound(0)
        self._port = int(self._place.getsockname()[1])

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.vanish()
        self._place.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def listen(self) -> None:
        """Come up, on the same port as before."""
        app = web.Application()
        app.router.add_get("/api/v1/pods", self._pods_asked)
        app.router.add_get("/api/v1/nodes", self._nodes_asked)
        self._runner = web.AppRunner(app, shutdown_timeout=0.001, handler_cancellation=True)
        await self._runner.setup()
        await web.SockSite(self._runner, await self._listening()).start()

    async def _listening(self) -> socket.socket:
        """The port again. A child that was just forked may hold the last socket a moment longer."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                try:
                    made = _bound(self._port)
                    made.listen()
                except OSError:
                    await asyncio.sleep(0.005)
                else:
                    return made

    async def vanish(self) -> None:
        """Break all connections and refuse new ones."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def put(self, item: Json) -> None:
        """Create or replace a pod, and tell those who watch."""
        kind = "MODIFIED" if item["metadata"]["uid"] in self._pods else "ADDED"
        self._pods[item["metadata"]["uid"]] = item
        await self._tell(kind, item)

    async def delete(self, uid: str) -> None:
        """Delete a pod, and tell those who watch."""
        await self._tell("DELETED", self._pods.pop(uid))

    async def bookmark(self) -> None:
        """Tell those who watch how far they have come."""
        await self._tell("BOOKMARK", {"metadata": {}})

    def change_unseen(
        self, *, put: list[Json] | None = None, delete: list[str] | None = None
    ) -> None:
        """Change the store in a way that no watch can tell any more: it is compacted."""
        for uid in delete or []:
            del self._pods[uid]
        for item in put or []:
            self._pods[item["metadata"]["uid"]] = item
        self.version += 1000
        self._history.clear()

    async def _tell(self, kind: str, item: Json) -> None:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        async with self._news:
            event = json.loads(json.dumps({"type": kind, "object": item}))
            self._history.append((self.version, event))
            self._news.notify_all()

    async def _nodes_asked(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await hang(request)
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})

    async def _pods_asked(self, request: web.Request) -> web.StreamResponse:
        watching = "watch" in request.query
        asked, script, good = (
            (self.asked.watches, self.next_watches, self.watch)
            if watching
            else (self.asked.lists, self.next_lists, self.list)
        )
        asked.append(dict(request.query))
        self.asked.tokens.append(request.headers.get("Authorization", ""))
        if (refusal := self.check(request)) is not None:
            return refusal
        return await (script.popleft() if script else good)(request)

    async def list(self, request: web.Request) -> web.StreamResponse:
        """A good list: the continue token is the number of the next item."""
        start = int(request.query.get("continue", 0))
        items = list(self._pods.values())
        end = start + int(request.query["limit"])
        metadata = {"resourceVersion": str(self.version)}
        if end < len(items):
            metadata["continue"] = str(end)
        return web.json_response({"metadata": metadata, "items": items[start:end]})

    async def watch(self, request: web.Request) -> web.StreamResponse:
        """A good watch: what came after the version, then what comes."""
        response = await _begin(request)
        told = int(request.query["resourceVersion"])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(1, int(request.query["timeoutSeconds"]))):
                while True:
                    told = await self._tell_since(told, response)
        return response

    async def _tell_since(self, told: int, response: web.StreamResponse) -> int:
        async with self._news:
            await self._news.wait_for(lambda: self.version > told)
            events = [event for version, event in self._history if version > told]
            version = self.version
        for event in events:
            await response.write(json.dumps(event).encode() + b"\n")
        return version


def _bound(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made


class RushingClock:
    """Time that passes only in pauses, and then at once. Tells how long they were."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def now(self) -> float:
        return 1_000_000.0 + self.monotonic()

    def monotonic(self) -> float:
        return sum(self.pauses)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)


@dataclass
class Following:
    """A reflector of pods at work."""

    reflector: Reflector[Pod]
    cache: ClusterCache
    clock: RushingClock

    def names(self) -> set[str]:
        return {pod.name for pod in self.cache.pods()}

    def knows(self, uid: str) -> bool:
        return self.cache.pod_by_uid(PodUid(uid)) is not None


@contextlib.asynccontextmanager
async def following(
    server: ScriptedApiServer, *, access: KubeAccess | None = None, pace: Pace | None = None
) -> AsyncIterator[Following]:
    """Run a reflector of ``server``'s pods, without waiting for anything."""
    api = KubeApi(access or KubeAccess.without_credentials(server.url))
    cache, clock = ClusterCache(), RushingClock()
    pace = pace or Pace(watch_s=WATCH_S)
    reflector = Reflector(api, POD_RESOURCE, PodStore(cache), pace, clock)
    task = asyncio.create_task(reflector.run())
    try:
        yield Following(reflector, cache, clock)
    finally:
        assert not task.done(), "nothing may end a reflector"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await api.close()


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for ``condition``, checked whenever the event loop comes round."""
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not condition():  # noqa: ASYNC110 - conditions are of many kinds
                await asyncio.sleep(0.002)
    except TimeoutError:
        raise AssertionError(f"waited {DEADLINE_S:g} s in vain: {what}") from None
