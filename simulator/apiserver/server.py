"""The API server on a loopback port: routes, credentials, faults, start and stop."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from gpupods.addresses import HostPort
from simulator.apiserver import discovery, rights
from simulator.apiserver.faults import Faults
from simulator.apiserver.feed import Feed
from simulator.apiserver.forwarding import PATH as PORT_FORWARD
from simulator.apiserver.forwarding import Forwarding
from simulator.apiserver.lists import Shown, get_object, list_page
from simulator.apiserver.requests import TRUE, Target, read_options, read_target, wants_table
from simulator.apiserver.status import (
    StatusError,
    bad_request,
    method_not_allowed,
    no_such_path,
    unauthorized,
)
from simulator.apiserver.store import Store
from simulator.apiserver.watches import Watch
from simulator.apiserver.writes import Writes
from simulator.model import Cluster

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

PREFIXES = {discovery.CORE: "/api/v1/"} | {
    group: f"/apis/{group}/" for group in discovery.GROUP_VERSIONS
}
"""group and version -> where its resources are"""

REVIEWS = {
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": rights.review,
    "/apis/authentication.k8s.io/v1/selfsubjectreviews": lambda *_: rights.who_is_it(),
}

MAX_BODY_BYTES = 3 * 1024 * 1024
REQUESTS_KEPT = 10_000


class SimulatedApiServer:
    """Serves the pods, nodes and namespaces of ``cluster``, and leases and events.

    Args:
        cluster: The truth; every change of it is an event to the watchers.
        token: The bearer token that every request must carry; empty: none is asked for.

    Attributes:
        store: The objects. Tests may put objects there that no cluster would make.
        faults: What is wrong with it.
        forwarding: Where port-forwards lead to.
        bookmark_every_s: How often a quiet watch is told the current version.
        requests: The latest requests, each "METHOD path?query".
    """

    def __init__(self, cluster: Cluster, *, token: str = "") -> None:
        self.store = Store(tuple(discovery.KINDS))
        self.faults = Faults()
        self.forwarding = Forwarding()
        self.bookmark_every_s = 5.0
        self.requests: deque[str] = deque(maxlen=REQUESTS_KEPT)
        self._cluster = cluster
        self._token = token
        self._feed = Feed(cluster, self.store)
        self._writes = Writes(cluster, self.store, self.faults)
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._address = HostPort("127.0.0.1", 0)

    @property
    def url(self) -> str:
        """Where it is served, once it has been started."""
        return f"http://{self._address}"

    async def start(self, listen: HostPort = HostPort("127.0.0.1", 0)) -> HostPort:  # noqa: B008
        """Listen and serve.

        Raises:
            OSError: the address cannot be listened on.
        """
        app = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        self._address = listen
        await self.come_back()
        return self._address

    async def stop(self) -> None:
        """End every watch and connection, and follow the cluster no more."""
        self._feed.close()
        self._site = None
        self.faults.set_half_open(half_open=False)
        self.store.end_watches()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def go_away(self) -> None:
        """Break every connection and refuse new ones, as when the process is killed."""
        if self._runner is None or self._site is None:
            return
        await self._site.stop()
        self._site = None
        if self._runner.server is not None:
            for connection in self._runner.server.connections:
                if connection.transport is not None:
                    connection.transport.abort()

        self.store.end_watches()

    @property
    def serving(self) -> bool:
        """Whether it listens."""
        return self._site is not None

    async def come_back(self) -> None:
        """Listen again, where it listened before."""
        assert self._runner is not None, "start comes first"  # noqa: S101
        host, port = self._address.host, self._address.port
        self._site = web.TCPSite(self._runner, host, port, reuse_address=True)
        await self._site.start()
        self._address = HostPort(host, self._runner.addresses[0][1])

    async def list_here(self, path: str, query: Mapping[str, str]) -> object:
        """A page of a list, for those in this process.

        Raises:
            StatusError: it is refused.
            ConnectionError: the server is away.
        """
        target = await self._asked_here("list", path, query)
        shown = Shown(as_table=False, include="", now=0.0, group_version=target.group_version)
        return list_page(self.store, target, read_options(query, target), shown)

    async def watch_here(
        self, path: str, query: Mapping[str, str], bookmark_every_s: float
    ) -> AsyncGenerator[bytes, None]:
        """The frames of a watch, for those in this process; they end when the server goes away.

        Raises:
            StatusError: it is refused.
            ConnectionError: the server is away.
        """
        target = await self._asked_here("watch", path, query)
        shown = Shown(as_table=False, include="", now=0.0, group_version=target.group_version)
        options = read_options(query, target)
        return self._frames(Watch(self.store, target, options, shown, bookmark_every_s))

    async def _asked_here(self, verb: str, path: str, query: Mapping[str, str]) -> Target:
        if not self.serving:
            raise ConnectionRefusedError("connection refused (simulated)")
        self.requests.append(f"GET {path}?{urlencode(query)}")
        await self.faults.before_request()
        target = _target_of(path)
        rights.check(self.faults.denied, verb, target.right)
        return target

    async def _frames(self, watch: Watch) -> AsyncGenerator[bytes, None]:
        async with contextlib.aclosing(watch.frames()) as frames:
            async for frame in frames:
                await self.faults.answering()
                yield frame

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Count the request, apply the faults, check the token, and show errors as Status."""
        self.requests.append(f"{request.method} {request.path_qs}")
        try:
            await self.faults.before_request()
            if self._token and request.headers.get("Authorization") != f"Bearer {self._token}":
                raise unauthorized()
            return await handler(request)
        except StatusError as error:
            return _json(error.object(), error.code)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = request.path.rstrip("/") or "/"
        if forward := PORT_FORWARD.match(path):
            rights.check(self.faults.denied, "create", "pods/portforward")
            return await self.forwarding.serve(request, forward)
        if request.method == "POST" and path in REVIEWS:
            return _json(REVIEWS[path](self.faults.denied, await _body(request)), 201)
        if any(path.startswith(prefix) for prefix in PREFIXES.values()):
            return await self._resource(request, _target_of(path))
        if request.method != "GET":
            raise method_not_allowed()
        if path in ("/healthz", "/readyz", "/livez"):
            return web.Response(text="ok")
        answers: Mapping[str, Callable[[], object]] = {
            "/version": discovery.version,
            "/api": lambda: discovery.api_versions(str(self._address)),
            "/apis": discovery.api_groups,
        } | {
            prefix.rstrip("/"): partial(discovery.resources_of, group_version)
            for group_version, prefix in PREFIXES.items()
        }
        if path not in answers:
            raise no_such_path()
        return _json(answers[path]())

    async def _resource(self, request: web.Request, target: Target) -> web.StreamResponse:
        watching = request.query.get("watch") in TRUE
        verb = rights.verb_of(request.method, target, watching=watching)
        rights.check(self.faults.denied, verb, target.right)
        if request.method == "GET":
            return await self._read(request, target, watching=watching)
        if request.query.get("dryRun"):
            raise bad_request("dryRun is not simulated")
        body = None if request.method == "DELETE" else await _body(request)
        code, written = self._writes.do(request.method, target, body, request.content_type)
        return _json(written, code)

    async def _read(
        self, request: web.Request, target: Target, *, watching: bool
    ) -> web.StreamResponse:
        shown = Shown(
            as_table=wants_table(request.headers.get("Accept", "")),
            include=request.query.get("includeObject", "Metadata"),
            now=self._cluster.now(),
            group_version=target.group_version,
        )
        if target.name and not watching:
            return _json(get_object(self.store, target, shown))
        options = read_options(request.query, target)
        if not watching:
            return _json(list_page(self.store, target, options, shown))
        return await self._stream(
            request, Watch(self.store, target, options, shown, self.bookmark_every_s)
        )

    async def _stream(self, request: web.Request, watch: Watch) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            async with contextlib.aclosing(self._frames(watch)) as frames:
                async for frame in frames:
                    await response.write(frame)
            await response.write_eof()
        return response


def _target_of(path: str) -> Target:
    for group_version, prefix in PREFIXES.items():
        if path.startswith(prefix):
            return read_target(path.removeprefix(prefix), group_version)
    raise no_such_path()


def _json(thing: object, code: int = 200) -> web.Response:
    body = msgspec.json.encode(thing)
    return web.Response(body=body, status=code, content_type="application/json")


async def _body(request: web.Request) -> object:
    try:
        return msgspec.json.decode(await request.read())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"the body is not JSON: {error}") from error
