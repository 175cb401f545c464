"""A plain HTTP client of the simulated API server, for its own tests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import aiohttp

from gpupods.kube.api import MERGE_PATCH
from simulator.apiserver import SimulatedApiServer
from tests.unit.simulator.small import Small, small

LIMIT = aiohttp.ClientTimeout(total=20)


class Served:
    """A small cluster behind a running server, and a session to ask it with."""

    def __init__(self, token: str = "") -> None:
        self.world: Small = small()
        self.server = SimulatedApiServer(self.world.cluster, token=token)

    async def __aenter__(self) -> Served:
        await self.server.start()
        self.session = aiohttp.ClientSession(self.server.url, timeout=LIMIT)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.session.close()
        await self.server.stop()

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        async with self.session.get(path, headers=headers) as response:
            return response.status, await response.json()

    async def send(
        self, method: str, path: str, body: object = None, media_type: str = ""
    ) -> tuple[int, Any]:
        """A patch is a merge patch where nothing else is said."""
        kind = media_type or (MERGE_PATCH if method == "PATCH" else "application/json")
        headers = {"Content-Type": kind}
        async with self.session.request(method, path, json=body, headers=headers) as response:
            return response.status, await response.json()

    @asynccontextmanager
    async def watch(self, path: str, **headers: str) -> AsyncIterator[Events]:
        async with self.session.get(path, headers=headers) as response:
            assert response.status == 200
            yield Events(response)


class Events:
    """The events of an open watch, one at a time."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self) -> tuple[str, Any]:
        line = await self._response.content.readline()
        assert line, "the watch has ended"
        event = json.loads(line)
        return event["type"], event["object"]

    async def ended(self) -> bool:
        return await self._response.content.readline() == b""
