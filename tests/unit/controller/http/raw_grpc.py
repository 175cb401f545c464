"""A gRPC server of a few HTTP/2 frames, to send what a real one would not: any grpc-status at all.

It answers every call with trailers only, whatever was asked.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator, Mapping

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS, _PING = 0, 1, 4, 6
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_STATUS_200 = b"\x88"  # HPACK's static table
_NEW_NAME = b"\x00"
_LISTEN_LIMIT_S = 60.0


@contextlib.contextmanager
def trailers_only(trailers: Mapping[str, str]) -> Iterator[int]:
    """Serve on loopback; the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_LISTEN_LIMIT_S)
        threading.Thread(target=_accept, args=(listener, trailers), daemon=True).start()
        yield listener.getsockname()[1]


def _accept(listener: socket.socket, trailers: Mapping[str, str]) -> None:
    with contextlib.suppress(OSError):  # the listener was closed: the test is over
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_serve, args=(connection, trailers), daemon=True).start()


def _serve(connection: socket.socket, trailers: Mapping[str, str]) -> None:
    answer = _encode({"content-type": "application/grpc", **trailers})
    with connection, contextlib.suppress(OSError, EOFError):
        _read(connection, len(_PREFACE))
        connection.sendall(_frame(_SETTINGS, 0, 0, b""))
        while True:
            kind, flags, stream, payload = _read_frame(connection)
            if kind in (_SETTINGS, _PING) and not flags & _ACK:
                connection.sendall(_frame(kind, _ACK, 0, payload if kind == _PING else b""))
            if kind in (_DATA, _HEADERS) and flags & _END_STREAM:
                connection.sendall(_frame(_HEADERS, _END_STREAM | _END_HEADERS, stream, answer))


def _encode(headers: Mapping[str, str]) -> bytes:
    """HPACK without indexing or Huffman codes; names and values of at most 126 bytes."""
    fields = [
        _NEW_NAME + b"".join(bytes([len(text)]) + text.encode() for text in (name, value))
        for name, value in headers.items()
    ]
    return _STATUS_200 + b"".join(fields)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _read_frame(connection: socket.socket) -> tuple[int, int, int, bytes]:
    head = _read(connection, 9)
    kind, flags, stream = struct.unpack(">BBI", head[3:])
    return kind, flags, stream, _read(connection, int.from_bytes(head[:3]))


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
