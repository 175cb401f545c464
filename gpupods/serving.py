"""What every gRPC server of ours has: health, reflection, size limits, and a graceful stop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import grpc
import structlog
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from gpupods.addresses import HostPort
from gpupods.errors import REASON_METADATA, StatusError, unavailable

log = structlog.get_logger()

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""A node's map or a cluster's answer passes gRPC's own default of 4 MiB."""

MAX_METADATA_BYTES = 4 * 1024 * 1024
"""What HTTP may carry in its headers, of which gRPC's default lets pass 8 KiB: cookies and tokens
of single sign-on are larger, and grpc-go takes more."""

SERVER_OPTIONS = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_metadata_size", MAX_METADATA_BYTES),
    ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
    # Two servers on one port would answer in turn: refuse the second.
    ("grpc.so_reuseport", 0),
    # Callers may probe idle connections this often without being cut off.
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
)

EVERY_ADDRESS = "::"

LULL_S = 0.005
LULLS = 3
"""So many times in turn without a new call, and none that has arrived waits for its turn. One
would not do: a busy event loop may have slept through it."""
LONGEST_WAIT_FOR_A_LULL_S = 0.25

T = TypeVar("T")


def time_left(context: grpc.aio.ServicerContext[Any, Any], otherwise_s: float) -> float:
    """How long the caller waits still, in seconds; ``otherwise_s`` if it has set no deadline."""
    remaining_s = context.time_remaining()
    return otherwise_s if remaining_s is None else remaining_s


class GrpcServer:
    """A gRPC server on the running asyncio loop.

    Args:
        services: Full service names, for reflection and health.
        health_names: Further names that the health service is to know.
        max_request_bytes: A longer request is refused with RESOURCE_EXHAUSTED.
    """

    def __init__(
        self,
        services: Sequence[str],
        health_names: Sequence[str] = (),
        *,
        max_request_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        limit = ("grpc.max_receive_message_length", max_request_bytes)
        self.server = grpc.aio.server(options=(limit, *SERVER_OPTIONS))
        self.registry: Any = TolerantRegistry(self.server)
        """What generated code registers a service with, in the server's place."""
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]  # the stubs lack it
        self._services = tuple(services)
        self._health_names = tuple(health_names)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self.server)
        names = (*services, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self.server)

    async def start(self, listen: HostPort) -> HostPort:
        """Listen and serve; not yet reported as serving by the health service.

        Returns: where it listens, the port that was found if 0 was asked for.

        Raises:
            OSError: the address cannot be listened on.
        """
        for service in ("", *self._services):
            await self._health.set(service, health_pb2.HealthCheckResponse.NOT_SERVING)
        _check_free(listen)
        try:
            port = self.server.add_insecure_port(str(listen))
        except RuntimeError as error:
            raise OSError(f"cannot listen on {listen}: is it in use, is it ours?") from error
        await self.server.start()
        return HostPort(listen.host, port)

    async def set_serving(self, *, serving: bool) -> None:
        """What the health service answers, for the whole server and each of its services."""
        for service in ("", *self._services):
            await self.set_health(service, serving=serving)

    async def set_health(self, name: str, *, serving: bool) -> None:
        """What the health service answers for one name."""
        status = health_pb2.HealthCheckResponse
        await self._health.set(name, status.SERVING if serving else status.NOT_SERVING)

    async def stop(self, grace_s: float) -> None:
        """Refuse new calls, let running ones end for ``grace_s`` seconds, then cut them off.

        gRPC itself cancels what has arrived and waits to be begun, which no caller expects.
        """
        await self._health.enter_graceful_shutdown()
        if grace_s:
            await self._until_a_lull()
            self.registry.stopping = True
            await self._until_a_lull()
        await self.server.stop(grace_s)

    async def _until_a_lull(self) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + LONGEST_WAIT_FOR_A_LULL_S
        quiet = 0
        while quiet < LULLS and loop.time() < ends:
            begun = self.registry.begun
            await asyncio.sleep(LULL_S)
            quiet = quiet + 1 if begun == self.registry.begun else 0


def _check_free(listen: HostPort) -> None:
    """Bind there for a moment: gRPC logs why it cannot, in lines of its own, and tells nobody.

    Raises:
        OSError: the address is in use, or cannot be listened on.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            listen.host, listen.port, type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if listen.host == EVERY_ADDRESS and error.errno not in {errno.EADDRINUSE, errno.EACCES}:
            return  # a machine without IPv6: gRPC then takes every IPv4 address
        raise OSError(
            f"cannot listen on {listen}: {error.strerror}: is it in use, is it ours?"
        ) from error


class Undecodable(bytes):
    """A request that is not the message it should be, kept until its call can be refused."""


class TolerantRegistry:
    """Stands before a server while generated code registers a service with it.

    A request that cannot be decoded (a string that is not UTF-8, bytes cut short) is then
    refused with INVALID_ARGUMENT; grpcio alone would answer INTERNAL and log a traceback.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server
        self.begun = 0
        """How many calls have begun."""
        self.stopping = False
        """Whether those that begin now are refused with UNAVAILABLE."""

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Passed over: the same methods come again, one by one, right after."""

    def add_registered_method_handlers(
        self, service: str, handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]
    ) -> None:
        """Register each method, its decoder made tolerant."""
        tolerant = {name: _tolerant(handler, self._begin) for name, handler in handlers.items()}
        generic = grpc.method_handlers_generic_handler(service, tolerant)
        self._server.add_generic_rpc_handlers((generic,))

    async def _begin(self, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        self.begun += 1
        if self.stopping:
            error = unavailable("this server is stopping; try again in a moment")
            await context.abort(error.code, error.message, _metadata(error))


def _tolerant(
    handler: grpc.RpcMethodHandler[Any, Any],
    begin: Callable[[grpc.aio.ServicerContext[Any, Any]], Awaitable[None]],
) -> grpc.RpcMethodHandler[Any, Any]:
    if handler.unary_unary is None or handler.request_deserializer is None:
        return handler
    decode = handler.request_deserializer
    behave: Any = handler.unary_unary

    def decode_or_keep(data: bytes) -> object:
        try:
            return decode(data)
        except DecodeError:
            return Undecodable(data)

    async def refuse_or_behave(request: object, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        await begin(context)
        if isinstance(request, Undecodable):
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"the request ({len(request)} bytes) is not a valid message of this method; "
                "a string in it may not be UTF-8",
            )
        return await behave(request, context)

    return grpc.unary_unary_rpc_method_handler(
        refuse_or_behave,
        request_deserializer=decode_or_keep,
        response_serializer=handler.response_serializer,
    )


def _metadata(error: StatusError) -> tuple[tuple[str, str], ...]:
    return ((REASON_METADATA, error.reason.value),)


async def answer(context: grpc.aio.ServicerContext[Any, Any], work: Awaitable[T]) -> T:
    """Await ``work``; a StatusError becomes the call's status, anything else INTERNAL, logged."""
    try:
        return await work
    except StatusError as error:
        await context.abort(error.code, error.message, _metadata(error))
    except (asyncio.CancelledError, grpc.aio.AbortError):
        raise
    except Exception as error:
        log.exception("a call failed in a way nobody foresaw")
        await context.abort(
            grpc.StatusCode.INTERNAL,
            f"{type(error).__name__} while answering; the server's log has the details",
        )
    raise AssertionError("abort returned")


async def until_signal() -> str:
    """Wait for SIGTERM or SIGINT and return its name. A second one ends the process at once."""
    loop = asyncio.get_running_loop()
    received: asyncio.Future[str] = loop.create_future()

    def receive(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        if not received.done():
            received.set_result(number.name)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, receive, number)
    return await received


def run(main: Callable[[], Awaitable[None]]) -> None:
    """Run a server's main coroutine on uvloop; Ctrl-C is a clean end."""
    import uvloop  # noqa: PLC0415 - programs that serve nothing need not load it

    async def whole() -> None:
        await main()

    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(whole())
