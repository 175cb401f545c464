"""HTTP/1.1 over a plain socket: requests exactly as written, well formed or not."""

from __future__ import annotations

import http.client
import socket
from dataclasses import dataclass, field

TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Request:
    """A request line, headers beside Host and Connection, and a body with its Content-Length."""

    target: str | bytes
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    def encoded(self) -> bytes:
        target = self.target if isinstance(self.target, bytes) else self.target.encode()
        lines = [b" ".join((self.method.encode(), target, b"HTTP/1.1"))]
        headers = [("Host", "controller.example:80"), ("Connection", "close"), *self.headers]
        if self.body is not None:
            headers.append(("Content-Length", str(len(self.body))))
        lines += [f"{name}: {value}".encode("utf-8", "surrogateescape") for name, value in headers]
        return b"\r\n".join([*lines, b"", self.body or b""])


@dataclass(frozen=True)
class Response:
    status: int
    headers: http.client.HTTPMessage
    body: bytes = field(repr=True)


def ask(port: int, request: Request) -> Response:
    return exchange(port, request.encoded(), request.method)


def exchange(port: int, sent: bytes, method: str = "GET") -> Response:
    """Send bytes to a port on loopback and read one response."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        connection.sendall(sent)
        answer = http.client.HTTPResponse(connection, method=method)
        answer.begin()
        return Response(answer.status, answer.headers, answer.read())
