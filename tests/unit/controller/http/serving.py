"""The backend and the HTTP server in front of it, on an event loop in a thread of their own.

For tests that ask with plain sockets and wait for the answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import grpc

from controller.http.server import HttpServer
from gpupods.addresses import HostPort
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.unit.controller.http import kinds
from tests.unit.controller.http.backend import Backend

LOOPBACK = HostPort("127.0.0.1", 0)
SERVICES = (pb.DESCRIPTOR.services_by_name["GpuPodsService"], kinds.SERVICE)
DEFAULT_TIMEOUT_S = 15.0
START_LIMIT_S = 30.0


@dataclass(frozen=True)
class Ports:
    """Where on loopback each listens."""

    grpc: int
    http: int


@contextlib.contextmanager
def serving(grpc_port: int | None = None) -> Iterator[Ports]:
    """Serve HTTP in front of ``grpc_port``, or else of a backend of its own."""
    started = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    ports: list[Ports] = []

    async def serve() -> None:
        backend = Backend()
        at = grpc_port or await backend.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{at}") as channel:
            server = HttpServer(SERVICES, channel, DEFAULT_TIMEOUT_S)
            ports.append(Ports(at, (await server.start(LOOPBACK)).port))
            started.set()
            await stop.wait()
            await server.stop(0)
        await backend.server.stop(0)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(START_LIMIT_S), "the servers did not start"
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(START_LIMIT_S)
