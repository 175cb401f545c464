"""The simulated API server for those in its own process: one connection for thousands of agents.

Each agent lists and watches its own Node. Over HTTP that would be two sockets an agent; here lists
and watches come from the server's own code without them, with its faults and rights. All that is
written or asked of one object goes over HTTP, on one shared session.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec

from gpupods.kube.access import KubeAccess
from gpupods.kube.api import (
    JSON,
    SILENCE_LIMIT_S,
    Json,
    KubeApi,
    Stream,
    list_query,
    watch_query,
)
from gpupods.kube.encoding import Resource
from gpupods.kube.failures import (
    GONE,
    ApiError,
    GoneError,
    MalformedError,
    RefusedError,
    UnreachableError,
)
from simulator.apiserver.server import SimulatedApiServer
from simulator.apiserver.status import StatusError

T = TypeVar("T")

AT_ONCE = 50
"""Requests over HTTP: thousands of connections would be more than a process may open."""
BOOKMARK_EVERY_S = 60.0
"""Rarely: for thousands that all watch at once."""


class LocalApi(KubeApi):
    """A client of ``server``, which runs in this event loop and has been started."""

    def __init__(self, server: SimulatedApiServer) -> None:
        super().__init__(KubeAccess.without_credentials(server.url))
        self._server = server
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def ask(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        limit_s: float,
        needed: str = "",
        media_type: str = JSON,
        accept: str = JSON,
    ) -> Json:
        """See `KubeApi.ask`. The limit begins when it is its turn."""
        async with self._turns:
            return await super().ask(
                method,
                path,
                body,
                limit_s=limit_s,
                needed=needed,
                media_type=media_type,
                accept=accept,
            )

    @contextlib.asynccontextmanager
    async def list_page(
        self, resource: Resource[T], *, limit: int, version: str, token: str
    ) -> AsyncIterator[Stream[T]]:
        """See `KubeApi.list_page`."""
        with _as_api_errors(f"GET {resource.path}"):
            path, query = _whole(resource.path, list_query(limit, version, token))
            async with asyncio.timeout(SILENCE_LIMIT_S):
                page = await self._server.list_here(path, query)
        yield self._stream(resource, _one(msgspec.json.encode(page)))

    @contextlib.asynccontextmanager
    async def watch(
        self, resource: Resource[T], *, version: str, watch_s: int, margin_s: float
    ) -> AsyncIterator[Stream[T]]:
        """See `KubeApi.watch`."""
        name = f"GET {resource.path}"
        with _as_api_errors(name):
            path, query = _whole(resource.path, watch_query(version, watch_s))
            async with asyncio.timeout(watch_s + margin_s):
                frames = await self._server.watch_here(path, query, BOOKMARK_EVERY_S)
        async with contextlib.aclosing(frames):
            yield self._stream(resource, self._chunks(name, frames, watch_s + margin_s))

    async def _chunks(
        self, name: str, frames: AsyncGenerator[bytes, None], limit_s: float
    ) -> AsyncIterator[bytes]:
        end = asyncio.get_running_loop().time() + limit_s
        frame: bytes | None = b""
        with _as_api_errors(name):
            while self._server.serving and frame is not None:
                async with asyncio.timeout_at(end):
                    frame = await anext(frames, None)
                if frame is not None:
                    yield frame
        if not self._server.serving:
            raise UnreachableError(f"{name}: the connection was broken (simulated)")

    def _stream(self, resource: Resource[T], chunks: AsyncIterator[bytes]) -> Stream[T]:
        encoding = resource.encoding_of(JSON)
        if encoding is None:
            raise MalformedError(f"GET {resource.path}: the simulator has JSON only")
        return Stream(encoding, chunks)


def _whole(path: str, query: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Path and query, where the path has some of a query already."""
    split = urlsplit(path)
    return split.path, dict(parse_qsl(split.query)) | dict(query)


@contextlib.contextmanager
def _as_api_errors(name: str) -> Iterator[None]:
    try:
        yield
    except StatusError as error:
        raise _refusal(name, error) from error
    except TimeoutError as error:
        raise UnreachableError(f"{name}: no answer in time") from error
    except ConnectionError as error:
        raise UnreachableError(f"{name}: {error}") from error


def _refusal(name: str, error: StatusError) -> ApiError:
    message = f"{name}: {error.code} {error.message}"
    if error.code == GONE:
        return GoneError(message)
    return RefusedError(error.code, message)


async def _one(body: bytes) -> AsyncIterator[bytes]:
    yield body
