"""HOST:PORT as people write it, and IPv6 brackets done right. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class HostPort:
    """A place to listen or to call. ``port`` 0 asks for any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        """``host:port``, an IPv6 host in brackets."""
        return join_host_port(self.host, self.port)


def join_host_port(host: str, port: int) -> str:
    """``("fd00::1", 80)`` -> ``[fd00::1]:80``; ``("10.0.0.1", 80)`` -> ``10.0.0.1:80``."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_host_port(text: str) -> HostPort:
    """Read ``HOST:PORT``, ``[IPV6]:PORT``, or ``:PORT`` for every address of the machine.

    Raises:
        ValueError: the text is none of these; the message says what is wrong with it.
    """
    host, colon, port = text.rpartition(":")
    if not colon:
        raise ValueError(f"{text!r} has no port: write HOST:PORT, for example 127.0.0.1:50050")
    if not port.isascii() or not port.isdigit() or int(port) > MAX_PORT:
        raise ValueError(f"{port!r} in {text!r} is not a port: write a number from 0 to {MAX_PORT}")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        try:
            ip_address(host)
        except ValueError:
            raise ValueError(f"{host!r} in {text!r} is not an IPv6 address") from None
    elif ":" in host:
        raise ValueError(f"{text!r}: put an IPv6 address in brackets, [ADDRESS]:PORT")
    return HostPort(host or "[::]".strip("[]"), int(port))
