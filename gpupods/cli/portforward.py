"""A local socket whose connections come out at a port of a pod.

gRPC wants an address to connect to. This listens on a Unix socket in a folder that only its
user may enter, and copies each connection to a stream of its own and back. What a stream is,
the caller knows.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from gpupods.cli.failure import CommandFailed

CHUNK = 64 * 1024
CLOSED = "its connection was closed on the way"
LIBRARY_THREAD = "Kubernetes port forward proxy"


class Socket(Protocol):
    """What is used of a socket."""

    def recv(self, bufsize: int, /) -> bytes:
        """Read; empty at the end."""

    def sendall(self, data: bytes, /) -> None:
        """Write all of it."""

    def shutdown(self, how: int, /) -> None:
        """Wake up who reads or writes."""

    def close(self) -> None:
        """Give it back."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A connection to a port of a pod.

    ``error`` is what the far side had to say when it failed, empty if nothing.
    """

    socket: Socket
    error: Callable[[], str]


class PortForward:
    """Listens from the start; ``target`` is its address for gRPC. To be closed.

    The first stream is opened at once, so that what is wrong is known before anybody connects.
    ``problem`` says why connections end, as far as is known.

    Args:
        open_stream: opens one more stream; may raise anything, which is passed on for the first
            and becomes ``problem`` for later ones.

    Raises:
        CommandFailed: there is no place for the socket.
    """

    def __init__(self, open_stream: Callable[[], Stream]) -> None:
        self.problem = CLOSED
        self._open_stream = open_stream
        with contextlib.ExitStack() as made:
            path, self._listener = made.enter_context(_listening())
            self._first: Stream | None = open_stream()
            self._made = made.pop_all()
        self._sockets: list[Socket] = [self._first.socket]
        self.target = f"unix:{path}"
        self._previous_hook = threading.excepthook
        threading.excepthook = self._library_failed
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            self._sockets.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        stream, self._first = self._first, None
        try:
            stream = stream or self._open_stream()
        except Exception as error:  # noqa: BLE001 - whatever a stream is made with may raise
            self.problem = str(error)
            _end(connection)
            return
        self._sockets.append(stream.socket)
        threading.Thread(target=_pass_on, args=(connection, stream.socket), daemon=True).start()
        _copy(stream.socket, connection)
        # Before gRPC learns of the end, so that who then asks finds the reason.
        self.problem = stream.error() or self.problem
        _end(stream.socket)
        _end(connection)

    def _library_failed(self, failure: threading.ExceptHookArgs) -> None:
        """`kubernetes` lets its thread die of a broken connection, with a traceback on stderr."""
        if failure.thread is None or not failure.thread.name.startswith(LIBRARY_THREAD):
            self._previous_hook(failure)
            return
        self.problem = f"the connection to the Kubernetes API server: {failure.exc_value}"
        # That thread's end of the stream stays open: nobody would learn of it.
        self._end_all()

    def _end_all(self) -> None:
        for each in self._sockets:
            _end(each)

    def close(self) -> None:
        """End every connection and remove the socket. Closing twice does nothing."""
        _end(self._listener)
        self._end_all()
        self._made.close()
        if threading.excepthook == self._library_failed:
            threading.excepthook = self._previous_hook

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@contextlib.contextmanager
def _listening() -> Iterator[tuple[Path, socket.socket]]:
    """A socket in a folder of its own, which goes with it."""
    with contextlib.ExitStack() as made:
        try:
            folder = made.enter_context(tempfile.TemporaryDirectory(prefix="gpupods-"))
            path = Path(folder, "s")
            listener = made.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listener.bind(str(path))
            listener.listen()
        except OSError as error:
            raise CommandFailed(
                f"a port-forward needs a socket in the temporary folder: {error}",
                "TMPDIR names another, with a short path that can be written to; --server needs "
                "no port-forward",
            ) from error
        yield path, listener


def _pass_on(source: Socket, sink: Socket) -> None:
    """Copy until either side ends; then both do: gRPC has no use for half a connection."""
    _copy(source, sink)
    _end(source)
    _end(sink)


def _copy(source: Socket, sink: Socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            sink.sendall(data)


def _end(one: Socket) -> None:
    # shutdown, as close alone does not wake up another thread that reads.
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        one.close()
