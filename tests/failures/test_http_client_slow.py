"""A client opens a connection and sends nothing, part of a request, or a body without its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest

from controller.http.connection import Patience
from controller.http.server import HttpServer
from tests.unit.controller.http.serving import LOOPBACK, SERVICES

LIMIT_S = 30.0
SHORT_S = 0.1
NEVER_S = 3600.0

FORM = (
    b"POST /gpu-pods HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\nworker_id="
)


@asynccontextmanager
async def connected(
    patience: Patience,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with grpc.aio.insecure_channel("127.0.0.1:1") as channel:
        server = HttpServer(SERVICES, channel, LIMIT_S, patience=patience)
        at = await server.start(LOOPBACK)
        reader, writer = await asyncio.open_connection(at.host, at.port)
        async with asyncio.timeout(LIMIT_S):
            yield reader, writer
        writer.close()
        await server.stop(0)


@pytest.mark.parametrize("sent", [b"", b"GET /hea", b"GET /healthz HTTP/1.1\r\nHost: h\r\nX: y"])
async def test_a_request_that_never_becomes_one_is_cut_off(sent: bytes) -> None:
    async with connected(Patience(request_s=SHORT_S)) as (reader, writer):
        writer.write(sent)
        assert await reader.read() == b""


async def test_a_second_request_that_never_comes_is_not_waited_for() -> None:
    async with connected(Patience(request_s=SHORT_S)) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\nGET /hea")
        assert (await reader.read()).endswith(b"\r\n\r\nok\n")


async def test_a_body_without_its_end_is_refused() -> None:
    async with connected(Patience(request_s=NEVER_S, body_s=SHORT_S)) as (reader, writer):
        writer.write(FORM)
        answer = await reader.readuntil(b"}")
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b'"message":"the body was not there within 0.1 s"' in answer
