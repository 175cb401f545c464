from __future__ import annotations

import asyncio
import socket

import grpc
import pytest

from controller.http.server import HttpServer
from gpupods.addresses import HostPort
from tests.unit.controller.http.serving import LOOPBACK, SERVICES


async def healthz(host: str, port: int) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


async def test_every_address_means_ipv4_too() -> None:
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        server = HttpServer(SERVICES, channel, 1)
        at = await server.start(HostPort("::", 0))
        assert at.port != 0
        assert b"200 OK" in await healthz("127.0.0.1", at.port)
        if has_ipv6():
            assert b"200 OK" in await healthz("::1", at.port)
        await server.stop(0)


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
async def test_ipv6_loopback() -> None:
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        server = HttpServer(SERVICES, channel, 1)
        at = await server.start(HostPort("::1", 0))
        assert b"200 OK" in await healthz("::1", at.port)
        await server.stop(0)


async def test_an_address_in_use_says_so() -> None:
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        first, second = (HttpServer(SERVICES, channel, 1) for _ in range(2))
        at = await first.start(LOOPBACK)
        with pytest.raises(OSError, match=f"cannot listen on {at}: .*is it in use"):
            await second.start(at)
        await second.stop(0)
        await first.stop(0)


async def test_not_ready_is_503_and_says_why() -> None:
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        server = HttpServer(SERVICES, channel, 1, lambda: (False, "the cache is not synced"))
        at = await server.start(LOOPBACK)
        reader, writer = await asyncio.open_connection(at.host, at.port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        assert b" 503 " in answer
        assert b'{"code":14,"message":"the cache is not synced","details":[]}' in answer
        assert b"200 OK" in await healthz(at.host, at.port)
        writer.close()
        await server.stop(0)
