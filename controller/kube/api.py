"""Two requests to the API server over HTTP: a page of a list, and a watch.

Every wait has a limit, and every way to fail becomes an `ApiError`. What to do about it is the
reflector's to decide.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import aiohttp

from controller.kube.access import KubeAccess
from controller.kube.failures import (
    GONE,
    ApiError,
    GoneError,
    MalformedError,
    RefusedError,
    UnreachableError,
)
from controller.kube.json_encoding import read_status
from gpupods.version import VERSION

CONNECT_LIMIT_S = 10.0
SILENCE_LIMIT_S = 30.0
"""Of a list: between the request and the first bytes, and between any later ones."""
PAGE_LIMIT_S = 90.0
"""Of a list page as a whole; the server's own limit is 60 s."""

READ_BYTES = 1024 * 1024
ERROR_BYTES = 64 * 1024
"""As much of a refusal's body as is read."""

UNAUTHORIZED = 401
FORBIDDEN = 403


@dataclass(frozen=True, slots=True)
class Body:
    """A page of a list as it came."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Stream:
    """A watch that the server has accepted. ``chunks`` ends when the server ends it."""

    media_type: str
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

    async def list_page(self, path: str, *, accept: str, limit: int, token: str) -> Body:
        """Ask for at most ``limit`` objects; ``token`` continues an earlier page, "" begins.

        Raises:
            GoneError: the token has expired.
            ApiError: anything else.
        """
        query = {"limit": str(limit)} | ({"continue": token} if token else {})
        limits = aiohttp.ClientTimeout(
            total=PAGE_LIMIT_S, sock_connect=CONNECT_LIMIT_S, sock_read=SILENCE_LIMIT_S
        )
        async with self._get(path, query, accept, limits) as response:
            return Body(response.content_type, await response.read())

    @contextlib.asynccontextmanager
    async def watch(
        self, path: str, *, accept: str, version: str, watch_s: int, margin_s: float
    ) -> AsyncIterator[Stream]:
        """Ask for the changes since ``version``, bookmarks among them.

        Args:
            path: Of the collection.
            accept: Media types.
            version: A resourceVersion.
            watch_s: After this the server is to end the stream.
            margin_s: When it has not by then, the connection is taken for dead.

        Raises:
            GoneError: the server no longer keeps that version.
            ApiError: anything else, also while the stream is read.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(watch_s),
        }
        limit_s = watch_s + margin_s
        limits = aiohttp.ClientTimeout(
            total=limit_s, sock_connect=CONNECT_LIMIT_S, sock_read=limit_s
        )
        async with self._get(path, query, accept, limits) as response:
            yield Stream(response.content_type, response.content.iter_any())

    @contextlib.asynccontextmanager
    async def _get(
        self, path: str, query: Mapping[str, str], accept: str, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            headers = await self._headers()
            endpoint = self._access.endpoint
            async with self._session.get(
                endpoint.base_url + path,
                params=query,
                headers=headers | {"Accept": accept},
                ssl=endpoint.tls or True,
                server_hostname=endpoint.server_hostname,
                proxy=endpoint.proxy,
                timeout=limits,
                allow_redirects=False,
            ) as response:
                if response.status != 200:  # noqa: PLR2004 - OK
                    raise await self._refusal(response)
                yield response
        except TimeoutError as error:
            raise UnreachableError(f"{self._name(path)}: no answer in time") from error
        except (aiohttp.ClientError, OSError) as error:
            self._refused_credentials |= isinstance(error, ssl.SSLError)
            raise UnreachableError(
                f"{self._name(path)}: {error or type(error).__name__}"
            ) from error

    async def _headers(self) -> dict[str, str]:
        """Credentials; read anew after the server or TLS has refused them."""
        if self._refused_credentials:
            await self._access.reload()
            self._refused_credentials = False
        return await self._access.headers()

    async def _refusal(self, response: aiohttp.ClientResponse) -> ApiError:
        body = await response.content.read(ERROR_BYTES)
        status = read_status(body)
        said = status.message or status.reason or body[:200].decode(errors="replace")
        message = f"{self._name(response.url.path)}: {response.status} {said}".strip()
        if response.status == GONE:
            return GoneError(message)
        if response.status == UNAUTHORIZED:
            self._refused_credentials = True
            message += f": the API server does not accept the credentials of {self._access.source}"
        if response.status == FORBIDDEN:
            message += ": the controller's role must allow list and watch of pods and nodes"
        return RefusedError(response.status, message, _retry_after_s(response))

    def _name(self, path: str) -> str:
        return f"GET {self._access.endpoint.base_url}{path}"


def refusal_in_stream(code: int, message: str) -> ApiError:
    """What an ERROR event of a watch amounts to."""
    if code == GONE:
        return GoneError(f"watch: {message}")
    if code == 0:
        return MalformedError("watch: an ERROR event without a Status")
    return RefusedError(code, f"watch: {code} {message}")


def _retry_after_s(response: aiohttp.ClientResponse) -> float:
    """The header's seconds; its other form, a date, is not used by API servers."""
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else 0.0


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
