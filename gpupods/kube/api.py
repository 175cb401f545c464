"""Requests to the API server over HTTP: a list, a watch, and anything about one object.

Every wait has a limit, and every way to fail becomes an `ApiError`. What to do about it is the
reflector's to decide.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import aiohttp
import msgspec

from gpupods.kube.access import KubeAccess
from gpupods.kube.encoding import Encoding, Resource, Status
from gpupods.kube.failures import (
    GONE,
    ApiError,
    GoneError,
    MalformedError,
    RefusedError,
    UnreachableError,
)
from gpupods.kube.json_encoding import read_status
from gpupods.logs import shorten
from gpupods.version import VERSION

T = TypeVar("T")
Json = dict[str, Any]

CONNECT_LIMIT_S = 10.0
SILENCE_LIMIT_S = 30.0
"""Of a list: between the request and the first bytes, and between any later ones."""
LIST_LIMIT_S = 90.0
"""Of one answer as a whole; the server's own limit is 60 s."""

LONGEST_RETRY_AFTER_S = 60.0

READ_BYTES = 256 * 1024
ERROR_BYTES = 64 * 1024
"""As much of a refusal's body as is read."""

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"
"""Lists whose items have a name are merged item by item: a Node's conditions by their type."""
OK = (200, 201)


@dataclass(frozen=True, slots=True)
class Stream(Generic[T]):
    """An answer that the server has begun. ``chunks`` ends when the server ends it."""

    encoding: Encoding[T]
    chunks: AsyncIterator[bytes]


class KubeApi:
    """An API server. Connects on the first request; `close` ends all connections."""

    def __init__(self, access: KubeAccess) -> None:
        self._access = access
        self._refused_credentials = False
        self._open_session: aiohttp.ClientSession | None = None

    @property
    def _session(self) -> aiohttp.ClientSession:
        if self._open_session is None:
            self._open_session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, socket_factory=_socket),
                # Compressing costs the server and us more than a cluster's network does.
                headers={"User-Agent": f"gpupods/{VERSION}", "Accept-Encoding": "identity"},
                trust_env=False,
                read_bufsize=READ_BYTES,
            )
        return self._open_session

    async def close(self) -> None:
        """Close all connections."""
        if self._open_session is not None:
            await self._open_session.close()
            self._open_session = None

    @contextlib.asynccontextmanager
    async def list_page(
        self, resource: Resource[T], *, limit: int, version: str, token: str
    ) -> AsyncIterator[Stream[T]]:
        """Ask for objects.

        Args:
            resource: What to list.
            limit: As many at most, unless the server knows better.
            version: "0" for what the server has in memory, "" for what is true now.
            token: Continues an earlier page; "" begins.

        Raises:
            GoneError: the token has expired.
            ApiError: anything else, also while the stream is read.
        """
        limits = aiohttp.ClientTimeout(
            total=LIST_LIMIT_S, sock_connect=CONNECT_LIMIT_S, sock_read=SILENCE_LIMIT_S
        )
        async with self._get(resource, list_query(limit, version, token), limits) as stream:
            yield stream

    @contextlib.asynccontextmanager
    async def watch(
        self, resource: Resource[T], *, version: str, watch_s: int, margin_s: float
    ) -> AsyncIterator[Stream[T]]:
        """Ask for the changes since ``version``, bookmarks among them.

        Args:
            resource: What to watch.
            version: A resourceVersion.
            watch_s: After this the server is to end the stream.
            margin_s: When it has not by then, the connection is taken for dead.

        Raises:
            GoneError: the server no longer keeps that version.
            ApiError: anything else, also while the stream is read.
        """
        limit_s = watch_s + margin_s
        limits = aiohttp.ClientTimeout(
            total=limit_s, sock_connect=CONNECT_LIMIT_S, sock_read=limit_s
        )
        async with self._get(resource, watch_query(version, watch_s), limits) as stream:
            yield stream

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
        """Read or write one object, or have a question answered.

        Args:
            method: HTTP's: GET, POST, PUT, PATCH.
            path: Under the API server's address.
            body: The object to be sent.
            limit_s: For all of it, in seconds.
            needed: Said where the request is forbidden: which rights it takes.
            media_type: Of the body: a patch says by it which kind it is.
            accept: Of the answer: a list may be asked for by its metadata alone.

        Raises:
            ApiError: there is no such answer; a write may have been done all the same.
        """
        limits = aiohttp.ClientTimeout(total=limit_s)
        content = None if body is None else msgspec.json.encode(body)
        headers = {"Accept": accept} | ({} if body is None else {"Content-Type": media_type})
        async with self._request(
            method, path, headers=headers, limits=limits, body=content
        ) as response:
            if response.status not in OK:
                refused = await _refused_body(response)
                status = read_status(refused) if response.content_type == JSON else Status()
                raise self._refusal(f"{method} {path}", response, refused, status, needed)
            try:
                answer = msgspec.json.decode(await response.read(), type=Json)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise _not_kubernetes(f"{method} {path}", response) from error
        return answer

    @contextlib.asynccontextmanager
    async def _get(
        self, resource: Resource[T], query: Mapping[str, str], limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[Stream[T]]:
        name = f"GET {self._access.endpoint.base_url}{resource.path}"
        headers = {"Accept": resource.accept}
        async with self._request(
            "GET", resource.path, headers=headers, limits=limits, query=query
        ) as response:
            encoding = resource.encoding_of(response.content_type)
            if response.status not in OK:
                body = await _refused_body(response)
                status = encoding.refusal(body) if encoding is not None else Status()
                raise self._refusal(name, response, body, status, resource.needed)
            if encoding is None:
                raise _not_kubernetes(name, response)
            yield Stream(encoding, response.content.iter_any())

    @contextlib.asynccontextmanager
    async def _request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        limits: aiohttp.ClientTimeout,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        name = f"{method} {self._access.endpoint.base_url}{path}"
        try:
            credentials = await self._headers()
            endpoint = self._access.endpoint
            async with self._session.request(
                method,
                endpoint.base_url + path,
                params=query,
                data=body,
                headers={**credentials, **headers},
                ssl=endpoint.tls or True,
                server_hostname=endpoint.server_hostname,
                proxy=endpoint.proxy,
                timeout=limits,
                allow_redirects=False,
            ) as response:
                yield response
        except TimeoutError as error:
            raise UnreachableError(f"{name}: no answer in time") from error
        except (aiohttp.ClientError, OSError) as error:
            self._refused_credentials |= isinstance(error, ssl.SSLError)
            raise UnreachableError(f"{name}: {error or type(error).__name__}") from error

    async def _headers(self) -> dict[str, str]:
        """Credentials; read anew after the server or TLS has refused them."""
        if self._refused_credentials:
            await self._access.reload()
            self._refused_credentials = False
        return await self._access.headers()

    def _refusal(
        self,
        name: str,
        response: aiohttp.ClientResponse,
        body: bytes,
        status: Status,
        needed: str,
    ) -> ApiError:
        said = status.message or status.reason or shorten(body.decode(errors="replace"))
        message = f"{name}: {response.status} {said}".strip()
        if response.status == GONE:
            return GoneError(message)
        if response.status == HTTPStatus.UNAUTHORIZED:
            self._refused_credentials = True
            message += f": the API server does not accept the credentials of {self._access.source}"
        if response.status == HTTPStatus.FORBIDDEN and needed:
            message += f": {needed}"
        return RefusedError(response.status, message, _retry_after_s(response))


def list_query(limit: int, version: str, token: str) -> dict[str, str]:
    """What a list is asked with; see `KubeApi.list_page`."""
    query = {"limit": str(limit)}
    if token:
        query["continue"] = token
    elif version:
        query["resourceVersion"] = version
    return query


def watch_query(version: str, watch_s: int) -> dict[str, str]:
    """What a watch is asked with; see `KubeApi.watch`."""
    return {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": version,
        "timeoutSeconds": str(watch_s),
    }


async def _refused_body(response: aiohttp.ClientResponse) -> bytes:
    return await response.content.read(ERROR_BYTES)


def _not_kubernetes(name: str, response: aiohttp.ClientResponse) -> MalformedError:
    return MalformedError(
        f"{name}: the answer is {response.content_type!r}, not a Kubernetes API's: is something"
        " else listening there?"
    )


def _retry_after_s(response: aiohttp.ClientResponse) -> float:
    """The header's seconds; its other form, a date, is not used by API servers.

    They ask for seconds. What asks for more than a minute is a proxy's page, or a mistake.
    """
    value = response.headers.get("Retry-After", "")
    asked_s = float(value) if value.isascii() and value.isdigit() else 0.0
    return min(asked_s, LONGEST_RETRY_AFTER_S)


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """A socket that notices a peer that has gone without a word, in about half a minute."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 15),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 30_000),
    ):
        if hasattr(socket, option):  # macOS lacks some
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
