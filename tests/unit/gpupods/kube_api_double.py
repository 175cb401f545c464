"""What of the Kubernetes API a port-forward needs, over HTTP and WebSockets on loopback.

The kubelet's side is included: bytes of channel 0 reach a port of this machine, and what cannot
be reached is told on channel 1, as v4.channel.k8s.io has it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import ssl
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme
from aiohttp import WSMsgType, web

PROTOCOL = "v4.channel.k8s.io"
DATA = b"\x00"
ERROR = b"\x01"
LABELS = "app.kubernetes.io/name=gpupods,app.kubernetes.io/component=controller"
START_LIMIT_S = 10


def pod(name: str, *, ready: bool = True, ports: dict[str, int] | None = None) -> dict[str, Any]:
    """A controller's pod as the API server has it."""
    listed = [{"name": port, "containerPort": number} for port, number in (ports or {}).items()]
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {
        "metadata": {"name": name, "namespace": "gpupods-system"},
        "spec": {"containers": [{"name": "controller", "image": "gpupods", "ports": listed}]},
        "status": {"phase": "Running" if ready else "Pending", "conditions": [condition]},
    }


@dataclass
class KubeApiDouble:
    """Serves ``pods``, and forwards to ``port`` of this machine, in a thread of its own.

    ``refuse_lists`` and ``refuse_forwards`` answer with that status, ``hang_forwards`` not at
    all. ``break_after`` cuts a forward's connection after that many messages from the client,
    ``breaks`` times.
    """

    port: int
    pods: list[dict[str, Any]]
    refuse_lists: int = 0
    refuse_forwards: int = 0
    hang_forwards: bool = False
    break_after: int | None = None
    breaks: int = 1000
    queries: list[dict[str, str]] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)
    forwarded: list[tuple[str, str]] = field(default_factory=list)
    forwards_open: int = 0
    closed: threading.Condition = field(default_factory=threading.Condition)

    @contextlib.contextmanager
    def serving(self, folder: Path, *, tls: bool = False) -> Iterator[Path]:
        """Serve while inside. Gives: a kubeconfig, made in ``folder``."""
        authority = trustme.CA() if tls else None
        ports: list[int] = []
        ready = threading.Event()
        loop = asyncio.new_event_loop()
        stop = asyncio.Event()

        async def serve() -> None:
            application = web.Application()
            base = "/api/v1/namespaces/{namespace}/pods"
            application.router.add_get(base, self._list)
            application.router.add_get(base + "/{name}/portforward", self._forward)
            runner = web.AppRunner(application, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=_server_side(authority))
            await site.start()
            ports.append(site._server.sockets[0].getsockname()[1])  # type: ignore[union-attr]
            ready.set()
            await stop.wait()
            await runner.cleanup()

        thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
        thread.start()
        try:
            assert ready.wait(START_LIMIT_S)
            yield kubeconfig_for(folder, ports[0], authority)
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()
            loop.close()

    def wait_until_all_closed(self, limit_s: float) -> bool:
        """Whether no forward is open any more, within ``limit_s`` seconds."""
        with self.closed:
            return self.closed.wait_for(lambda: self.forwards_open == 0, limit_s)

    async def _list(self, request: web.Request) -> web.Response:
        self.queries.append({**request.query, **request.match_info})
        self.tokens.add(request.headers.get("Authorization"))
        if self.refuse_lists:
            return _status(self.refuse_lists, "pods is forbidden: User cannot list")
        items = {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": self.pods}
        return web.json_response(items)

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        if self.hang_forwards:
            await asyncio.Event().wait()
        if self.refuse_forwards:
            return _status(self.refuse_forwards, "pods/portforward is forbidden: User cannot")
        self.tokens.add(request.headers.get("Authorization"))
        self.forwarded.append((request.match_info["name"], request.query["ports"]))
        stream = web.WebSocketResponse(protocols=(PROTOCOL,))
        await stream.prepare(request)
        announced = struct.pack("<H", int(request.query["ports"]))
        await stream.send_bytes(DATA + announced)
        await stream.send_bytes(ERROR + announced)
        with self.closed:
            self.forwards_open += 1
        try:
            await self._serve_stream(request, stream)
        finally:
            with self.closed:
                self.forwards_open -= 1
                self.closed.notify_all()
        return stream

    async def _serve_stream(self, request: web.Request, stream: web.WebSocketResponse) -> None:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError as error:
            await stream.send_bytes(ERROR + f"error forwarding port: {error}".encode())
            await stream.receive()
            return
        back = asyncio.create_task(_copy_back(reader, stream))
        count = 0
        async for message in stream:
            if message.type is not WSMsgType.BINARY:
                break
            count += 1
            if self.breaks and self.break_after is not None and count > self.break_after:
                self.breaks -= 1
                assert request.transport is not None
                request.transport.abort()
                break
            writer.write(message.data[1:])
        writer.close()
        back.cancel()


async def _copy_back(reader: asyncio.StreamReader, stream: web.WebSocketResponse) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            await stream.send_bytes(DATA + data)
        await stream.close()


def _status(code: int, message: str) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message}
    return web.json_response(body, status=code)


def _server_side(authority: trustme.CA | None) -> ssl.SSLContext | None:
    if authority is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def kubeconfig_for(folder: Path, port: int, authority: trustme.CA | None = None) -> Path:
    """A kubeconfig in ``folder`` for an API server at ``port`` of this machine. JSON is YAML."""
    cluster = {"server": f"http://127.0.0.1:{port}"}
    if authority is not None:
        trusted = base64.b64encode(authority.cert_pem.bytes()).decode()
        cluster = {
            "server": f"https://127.0.0.1:{port}",
            "certificate-authority-data": trusted,
        }
    path = folder / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "double", "cluster": cluster}],
        "users": [{"name": "tester", "user": {"token": "secret"}}],
        "contexts": [{"name": "double", "context": {"cluster": "double", "user": "tester"}}],
        "current-context": "double",
    }
    path.write_text(json.dumps(config), encoding="utf-8")
    return path
