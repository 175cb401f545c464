"""aiohttp's server with its own error pages replaced, so that every answer is JSON of one shape."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from aiohttp import web
from aiohttp.http_exceptions import BadHttpMethod, LineTooLong

from controller.http.errors import INTERNAL, INVALID_ARGUMENT, UNIMPLEMENTED, HttpError, http_error
from gpupods.logs import shorten

log = structlog.get_logger()

SERVER_NAME = "gpupods-controller"
CONTENT_TYPE = "application/json"
MAX_HEADER_BYTES = 1 << 20
"""Of a request line, and of one header: what Go's net/http allows for all of them."""

_REQUEST_LINE = re.compile(rb"[A-Z]+ [^\r\n]* HTTP/1\.[01]\r\n")
_NON_ASCII = re.compile(rb"[\x80-\xff]")

_HEADERS_TOO_LARGE = 431
_BAD_REQUEST = 400


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a client may hold a connection and send nothing, or too little, in seconds.

    Attributes:
        request_s: Until a request is there, the first one or the next. Longer than proxies keep
            an idle connection to a server: who closes it first loses no request.
        body_s: Until a body is there.
    """

    request_s: float = 650.0
    body_s: float = 60.0


def error_response(error: HttpError) -> web.Response:
    """``error`` as aiohttp sends it."""
    headers = {"Content-Type": CONTENT_TYPE, "Server": SERVER_NAME}
    return web.Response(status=error.http_status, body=error.body, headers=headers)


def _escape_non_ascii(line: bytes) -> bytes:
    return _NON_ASCII.sub(lambda byte: b"%%%02X" % ord(byte.group()), line)


class Connection(web.RequestHandler):
    """One client's connection. What cannot be read as HTTP gets a JSON answer, and is closed."""

    __slots__ = ()

    def data_received(self, data: bytes) -> None:
        """Take bytes from the client.

        A target with raw non-ASCII characters, as curl sends what it was given, is no URL;
        Go reads it all the same. aiohttp does not, so they are escaped before it looks.
        """
        if not data.isascii() and self._current_request is None:
            line = _REQUEST_LINE.match(data)
            if line:
                data = _escape_non_ascii(line.group()) + data[line.end() :]
        super().data_received(data)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what aiohttp found wrong; ``message`` is aiohttp's page, and not shown."""
        del message
        if request.writer.output_size > 0:
            raise ConnectionError("an answer had begun: its connection can only be cut")
        response = error_response(self._describe(request, status, exc))
        if isinstance(exc, LineTooLong):
            response.set_status(_HEADERS_TOO_LARGE)
        response.force_close()
        return response

    def _describe(
        self, request: web.BaseRequest, status: int, exc: BaseException | None
    ) -> HttpError:
        if isinstance(exc, BadHttpMethod):
            return http_error(UNIMPLEMENTED, "Method Not Allowed")
        if isinstance(exc, LineTooLong):
            return http_error(INVALID_ARGUMENT, f"a header is longer than {MAX_HEADER_BYTES} bytes")
        if status == _BAD_REQUEST:
            log.info("not an HTTP request", peer=request.remote, error=shorten(str(exc)))
            return http_error(INVALID_ARGUMENT, "Bad Request")
        log.error("a request failed in a way nobody foresaw", exc_info=exc)
        return http_error(INTERNAL, f"{type(exc).__name__}; the server's log has the details")


class ConnectionFactory(web.Server):
    """Makes a Connection for each client. Bodies reach the handler as they were sent."""

    def __init__(
        self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], idle_s: float
    ) -> None:
        super().__init__(handler, handler_cancellation=True)
        self._idle_s = idle_s

    def __call__(self) -> Connection:
        """Called by asyncio for each client that connects."""
        return Connection(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=self._idle_s,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type]  # aiohttp's own annotation is too narrow
        )
