"""A client that goes away takes its call with it, so that nobody works for nobody."""

from __future__ import annotations

import asyncio

import grpc

from controller.http.server import HttpServer
from tests.unit.controller.http.backend import Backend
from tests.unit.controller.http.serving import LOOPBACK, SERVICES

LIMIT_S = 20.0


async def test_client_disconnects() -> None:
    backend = Backend()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await backend.start()}") as channel:
        server = HttpServer(SERVICES, channel, LIMIT_S * 2)
        at = await server.start(LOOPBACK)
        _, writer = await asyncio.open_connection(at.host, at.port)
        writer.write(b"GET /gpu-pods?worker_id=wait HTTP/1.1\r\nHost: h\r\n\r\n")
        await asyncio.wait_for(backend.waiting.wait(), LIMIT_S)
        writer.close()
        await asyncio.wait_for(backend.cancelled.wait(), LIMIT_S)
        await server.stop(0)
    await backend.server.stop(0)
