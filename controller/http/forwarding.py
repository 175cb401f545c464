"""Carries one matched HTTP request over to gRPC and brings the answer, or the error, back."""

from __future__ import annotations

import re
from typing import Any

import grpc
import structlog
from aiohttp import web
from google.protobuf.message import Message

from controller.http.connection import CONTENT_TYPE, SERVER_NAME, error_response
from controller.http.errors import (
    DEADLINE_EXCEEDED,
    INTERNAL,
    UNAUTHENTICATED,
    UNKNOWN,
    HttpError,
    http_error,
    rpc_error,
)
from controller.http.form import Form
from controller.http.metadata import read_timeout_s, to_headers, to_metadata
from controller.http.routes import Match
from controller.http.transcoder import Transcoder

log = structlog.get_logger()

_NO_MESSAGE = "cardinality violation: received no response message from non-server-streaming RPC"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_SHORTEST_TIMEOUT_S = 0.001
"""gRPC rounds a shorter one up to this, and then answers late."""


async def forward(
    transcoder: Transcoder,
    match: Match,
    request: web.BaseRequest,
    *,
    form: Form,
    body: bytes,
    default_timeout_s: float,
) -> web.StreamResponse:
    """Call the method and answer the request.

    If this is cancelled, because the client has gone, so is the call.

    Raises:
        BadRequestError, UnencodableError: the request cannot be turned into a message.
    """
    timeout_s = read_timeout_s(request.headers, 0.0)
    metadata = to_metadata(request.headers, request.remote)
    message = transcoder.read_request(match, form, body)
    if 0 < timeout_s < _SHORTEST_TIMEOUT_S:
        return error_response(http_error(DEADLINE_EXCEEDED, "context deadline exceeded"))
    if transcoder.streams:
        # Without a deadline of the caller's own, a stream lasts as long as its connection.
        call = transcoder.call(message, timeout=timeout_s or None, metadata=metadata)
        return await _answer_stream(transcoder, call, request)
    call = transcoder.call(message, timeout=timeout_s or default_timeout_s, metadata=metadata)
    return await _answer(transcoder, call)


async def _answer(transcoder: Transcoder, call: Any) -> web.Response:
    try:
        response: Message | None = await call
    except grpc.aio.AioRpcError as error:
        return _refuse(error)
    if response is None:  # the server sent OK, and no message before it
        return error_response(http_error(INTERNAL, _NO_MESSAGE))
    headers = to_headers(await call.initial_metadata())
    try:
        body = transcoder.write_response(response)
    except ValueError as error:
        return _with_headers(error_response(_unwritable(error)), headers)
    return _with_headers(web.Response(body=body), headers)


def _refuse(error: grpc.aio.AioRpcError) -> web.Response:
    described = rpc_error(error)
    response = error_response(described)
    if described.code == UNAUTHENTICATED:
        response.headers["WWW-Authenticate"] = _CONTROL.sub(" ", described.message).strip()
    # An answer that is nothing but an error has no initial metadata at all.
    metadata = error.initial_metadata()
    return _with_headers(response, to_headers(metadata) if metadata else [])


def _unwritable(error: ValueError) -> HttpError:
    log.error("an answer cannot be shown as JSON", error=str(error))
    return http_error(UNKNOWN, f"proto: {error}")


def _with_headers(response: web.Response, headers: list[tuple[str, str]]) -> web.Response:
    response.headers["Content-Type"] = CONTENT_TYPE
    response.headers["Server"] = SERVER_NAME
    for name, value in headers:
        response.headers.add(name, value)
    return response


async def _answer_stream(
    transcoder: Transcoder, call: Any, request: web.BaseRequest
) -> web.StreamResponse:
    """One line of JSON for each message; an error is the last line, ``{"error": ...}``."""
    response = web.StreamResponse(headers={"Server": SERVER_NAME})
    try:
        metadata = await call.initial_metadata()
        async for message in call:
            line = transcoder.write_result(message)
            if not response.prepared:
                await _begin_stream(response, request, to_headers(metadata))
            await response.write(line)
    except grpc.aio.AioRpcError as error:
        return await _end_stream(response, request, rpc_error(error))
    except ValueError as error:
        call.cancel()
        return await _end_stream(response, request, _unwritable(error))
    if not response.prepared:
        await response.prepare(request)
    return response


async def _begin_stream(
    response: web.StreamResponse, request: web.BaseRequest, headers: list[tuple[str, str]]
) -> None:
    response.headers["Content-Type"] = CONTENT_TYPE
    for name, value in headers:
        response.headers.add(name, value)
    await response.prepare(request)


async def _end_stream(
    response: web.StreamResponse, request: web.BaseRequest, error: HttpError
) -> web.StreamResponse:
    if not response.prepared:
        response.set_status(error.http_status)
        await _begin_stream(response, request, [])
    await response.write(b'{"error":' + error.body + b"}\n")
    return response
