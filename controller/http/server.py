"""The controller's HTTP port: JSON in front of its own gRPC server, as grpc-gateway v2 answers.

Beside the annotated methods it serves GET /healthz (the process answers), GET /readyz and GET
/syncedz (what the controller says of itself), and what else it is given to be posted to. All else
is passed on: the gRPC server decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus

import grpc
from aiohttp import hdrs, web
from google.protobuf.descriptor import ServiceDescriptor

from controller.http.connection import (
    CONTENT_TYPE,
    SERVER_NAME,
    ConnectionFactory,
    Patience,
    error_response,
)
from controller.http.errors import (
    INTERNAL,
    INVALID_ARGUMENT,
    NOT_FOUND,
    UNAVAILABLE,
    UNIMPLEMENTED,
    BadRequestError,
    UnencodableError,
    http_error,
)
from controller.http.form import Form, merge_forms, parse_form
from controller.http.forwarding import forward
from controller.http.listening import Listener, listen
from controller.http.posting import Post
from controller.http.routes import Match, Route, Router
from controller.http.target import Target, split_target
from controller.http.transcoder import Transcoder
from gpupods.addresses import HostPort

Ready = Callable[[], tuple[bool, str]]
"""Whether requests can be answered now, and if not, why."""

HEALTHZ = "/healthz"
READYZ = "/readyz"
SYNCEDZ = "/syncedz"
MAX_BODY_BYTES = 10 << 20

_FORM_TYPE = "application/x-www-form-urlencoded"
_FORM_METHODS = frozenset((hdrs.METH_POST, hdrs.METH_PUT, hdrs.METH_PATCH))
_METHOD_OVERRIDE = "X-HTTP-Method-Override"


def _always_ready() -> tuple[bool, str]:
    return True, ""


class HttpServer:
    """Serves the annotated methods of ``services`` by calling them over ``channel``.

    ``default_timeout_s`` is the deadline of a call whose caller sets none; ``posts`` are answered
    without a call.

    Raises:
        AnnotationError: an annotation of a service cannot be served.
    """

    def __init__(
        self,
        services: Sequence[ServiceDescriptor],
        channel: grpc.aio.Channel,
        default_timeout_s: float,
        ready: Ready = _always_ready,
        synced: Ready = _always_ready,
        *,
        posts: Mapping[str, Post] | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._posts = posts or {}
        self._router = Router(services)
        self._transcoders: dict[Route, Transcoder] = {
            route: Transcoder(route, channel) for route in self._router.routes()
        }
        self._default_timeout_s = default_timeout_s
        self._patience = patience or Patience()
        self._probes: dict[str, Ready] = {HEALTHZ: _always_ready, READYZ: ready, SYNCEDZ: synced}
        self._listener: Listener | None = None

    async def start(self, where: HostPort) -> HostPort:
        """Listen and serve.

        Returns: where it listens, the port that was found if 0 was asked for.

        Raises:
            OSError: the address cannot be listened on.
        """
        factory = ConnectionFactory(self._serve, self._patience.request_s)
        self._listener = await listen(factory, where)
        return self._listener.address

    async def stop(self, grace_s: float) -> None:
        """Refuse new connections, let running requests end for ``grace_s``, then cut them off."""
        if self._listener is not None:
            await self._listener.close(grace_s)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except BadRequestError as error:
            return _error(INVALID_ARGUMENT, str(error))
        except UnencodableError as error:
            return _error(INTERNAL, str(error))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        target = split_target(request.raw_path)
        probe = self._probes.get(target.path)
        if probe is not None and request.method in (hdrs.METH_GET, hdrs.METH_HEAD):
            return _health(probe)
        if target.path in self._posts:
            return await self._posted(request, self._posts[target.path])
        return await self._transcoded(request, target)

    async def _transcoded(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        if request.method == hdrs.METH_OPTIONS and request.raw_path == "*":
            return web.Response(headers={"Server": SERVER_NAME})
        if not target.path.startswith("/"):
            return _error(INVALID_ARGUMENT, HTTPStatus.BAD_REQUEST.phrase)
        body = None
        posted: Form = {}
        if request.method in _FORM_METHODS and request.content_type == _FORM_TYPE:
            body = await self._read_body(request)
        method = request.method
        override = request.headers.get(_METHOD_OVERRIDE)
        if override and body is not None and method == hdrs.METH_POST:
            merge_forms(parse_form(body), parse_form(target.query))  # a broken one ends it here
            method = override.upper()
        match = self._find(method, target.path, posted=body is not None)
        if match is None and self._router.knows(target.path):
            return _error(UNIMPLEMENTED, HTTPStatus.METHOD_NOT_ALLOWED.phrase)
        if match is None:
            return _error(NOT_FOUND, HTTPStatus.NOT_FOUND.phrase)
        if match.route.body:
            body = await self._read_body(request) if body is None else body
        elif body is not None:
            posted = parse_form(body)
        form = merge_forms(posted, parse_form(target.query)) if match.route.takes_query else {}
        return await forward(
            self._transcoders[match.route],
            match,
            request,
            form=form,
            body=body or b"",
            default_timeout_s=self._default_timeout_s,
        )

    async def _posted(self, request: web.BaseRequest, post: Post) -> web.Response:
        if request.method != hdrs.METH_POST:
            return _error(UNIMPLEMENTED, HTTPStatus.METHOD_NOT_ALLOWED.phrase)
        status, answer = await post.answer(await self._read_body(request, post.max_bytes))
        headers = {"Content-Type": CONTENT_TYPE, "Server": SERVER_NAME}
        return web.Response(status=status, body=answer, headers=headers)

    async def _read_body(self, request: web.BaseRequest, max_bytes: int = MAX_BODY_BYTES) -> bytes:
        limit_s = self._patience.body_s
        try:
            async with asyncio.timeout(limit_s):
                return await _read_body(request, max_bytes)
        except TimeoutError:
            raise BadRequestError(f"the body was not there within {limit_s:g} s") from None

    def _find(self, method: str, path: str, *, posted: bool) -> Match | None:
        """A posted form may stand for a GET whose query is too long for a URL."""
        match = self._router.find(method, path)
        if match is None and posted and method == hdrs.METH_POST:
            return self._router.find(hdrs.METH_GET, path)
        return match


def _health(probe: Ready) -> web.Response:
    ready, reason = probe()
    if not ready:
        return _error(UNAVAILABLE, reason)
    return web.Response(text="ok\n", headers={"Server": SERVER_NAME})


def _error(code: int, message: str) -> web.Response:
    return error_response(http_error(code, message))


async def _read_body(request: web.BaseRequest, max_bytes: int) -> bytes:
    """All of the body.

    Raises:
        BadRequestError: it is longer than ``max_bytes``.
    """
    if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # it was no part of the answer
    chunks = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > max_bytes:
            raise BadRequestError("http: POST too large")
        chunks.append(chunk)
    return b"".join(chunks)
