"""HOST:PORT in every spelling that people use, and what is said of the others."""

from __future__ import annotations

import pytest

from gpupods.addresses import HostPort, parse_host_port


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        ("127.0.0.1:80", "127.0.0.1", 80, "127.0.0.1:80"),
        ("localhost:0", "localhost", 0, "localhost:0"),
        ("[fd00::1]:50051", "fd00::1", 50051, "[fd00::1]:50051"),
        (":8080", "::", 8080, "[::]:8080"),
        ("0.0.0.0:65535", "0.0.0.0", 65535, "0.0.0.0:65535"),
    ],
)
def test_taken(text: str, host: str, port: int, shown: str) -> None:
    assert parse_host_port(text) == HostPort(host, port)
    assert str(parse_host_port(text)) == shown


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("8080", "has no port"),
        ("", "has no port"),
        ("localhost", "has no port: write HOST:PORT, for example 127.0.0.1:50050"),
        ("localhost:", "is not a port"),
        ("localhost:http", "is not a port"),
        ("localhost:65536", "is not a port"),
        ("localhost:-1", "is not a port"),
        ("localhost:٣", "is not a port"),
        ("fd00::1:80", "in brackets"),
        ("[fd00::zz]:80", "is not an IPv6 address"),
        ("[localhost]:80", "is not an IPv6 address"),
    ],
)
def test_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_host_port(text)
