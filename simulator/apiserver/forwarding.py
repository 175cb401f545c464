"""Port-forward to a simulated pod: a WebSocket whose bytes come out at a real port on loopback.

Speaks the channel protocols of the official Python client. kubectl wants SPDY, which is not
simulated.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import struct

from aiohttp import WSMsgType, web

from gpupods.addresses import HostPort
from simulator.apiserver.status import bad_request, not_found

PATH = re.compile(r"^/api/v1/namespaces/(?P<namespace>[^/]+)/pods/(?P<name>[^/]+)/portforward$")
PROTOCOLS = ("v4.channel.k8s.io", "v5.channel.k8s.io")
DATA, ERROR = b"\x00", b"\x01"
CHUNK = 64 * 1024


class Forwarding:
    """Where the ports of pods lead to: ``targets`` by (namespace, pod name, port)."""

    def __init__(self) -> None:
        self.targets: dict[tuple[str, str, int], HostPort] = {}

    async def serve(self, request: web.Request, where: re.Match[str]) -> web.StreamResponse:
        """One forward of one port, until either side ends it.

        Raises:
            StatusError: 400, it is no WebSocket or names no port; 404, there is no such pod.
        """
        websocket = web.WebSocketResponse(protocols=PROTOCOLS)
        ports = request.query.get("ports", "")
        if not websocket.can_prepare(request).ok or not ports.isdigit():
            raise bad_request(
                "the simulator forwards one port over a WebSocket; kubectl needs SPDY"
            )
        namespace, name = where["namespace"], where["name"]
        if not any(key[:2] == (namespace, name) for key in self.targets):
            raise not_found("pods", name)
        await websocket.prepare(request)
        for channel in (DATA, ERROR):
            await websocket.send_bytes(channel + struct.pack("<H", int(ports)))
        await _connect(websocket, self.targets.get((namespace, name, int(ports))), int(ports))
        await websocket.close()
        return websocket


async def _connect(websocket: web.WebSocketResponse, target: HostPort | None, port: int) -> None:
    try:
        if target is None:
            raise ConnectionRefusedError(f"nothing listens on port {port} of the pod")
        reader, writer = await asyncio.open_connection(target.host, target.port)
    except OSError as error:
        await websocket.send_bytes(ERROR + f"error forwarding port {port}: {error}".encode())
        return
    outward = asyncio.create_task(_from_pod(reader, websocket))
    try:
        async for message in websocket:
            if message.type is not WSMsgType.BINARY:
                break
            if message.data[:1] == DATA:
                writer.write(message.data[1:])
                await writer.drain()
    except ConnectionError:
        pass  # the pod's side has ended
    finally:
        outward.cancel()
        writer.close()
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            await outward


async def _from_pod(reader: asyncio.StreamReader, websocket: web.WebSocketResponse) -> None:
    while data := await reader.read(CHUNK):
        await websocket.send_bytes(DATA + data)
    await websocket.close()
