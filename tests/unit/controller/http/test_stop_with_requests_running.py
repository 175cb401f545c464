"""A graceful stop lets a running request end, and cuts off one that does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest

from controller.http.server import HttpServer
from gpupods.addresses import HostPort
from tests.unit.controller.http.backend import Backend
from tests.unit.controller.http.serving import LOOPBACK, SERVICES

LIMIT_S = 20.0


@asynccontextmanager
async def waiting(limit: str) -> AsyncIterator[tuple[HttpServer, HostPort, asyncio.StreamReader]]:
    """A server, where it listens, and a client of it whose request is running."""
    backend = Backend()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await backend.start()}") as channel:
        server = HttpServer(SERVICES, channel, LIMIT_S * 2)
        at = await server.start(LOOPBACK)
        reader, writer = await asyncio.open_connection(at.host, at.port)
        writer.write(
            b"GET /gpu-pods?worker_id=wait HTTP/1.1\r\nHost: h\r\nGrpc-Timeout: %s\r\n\r\n"
            % limit.encode()
        )
        await asyncio.wait_for(backend.waiting.wait(), LIMIT_S)
        yield server, at, reader
        writer.close()
    await backend.server.stop(0)


async def test_a_request_that_ends_in_time_is_answered() -> None:
    async with waiting("300m") as (server, at, reader):
        await asyncio.wait_for(server.stop(LIMIT_S), LIMIT_S)
        answer = await reader.read()
        assert b"504 Gateway Timeout" in answer
        with pytest.raises(OSError, match=r"refused|Connect call failed"):
            await asyncio.open_connection(at.host, at.port)


async def test_a_request_that_does_not_is_cut_off() -> None:
    async with waiting("1H") as (server, _, reader):
        await asyncio.wait_for(server.stop(0.01), LIMIT_S)
        assert await reader.read() == b""


async def test_idle_connections_do_not_hold_up_a_stop() -> None:
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        server = HttpServer(SERVICES, channel, LIMIT_S)
        at = await server.start(LOOPBACK)
        reader, writer = await asyncio.open_connection(at.host, at.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
        await reader.readuntil(b"ok\n")
        await asyncio.wait_for(server.stop(LIMIT_S * 10), LIMIT_S)
        assert await reader.read() == b""
        writer.close()
