"""The real grpc-gateway as a process, for as long as a test needs it."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

from tests.realparts.go.gateway import build

STOP_LIMIT_S = 10.0


@contextlib.contextmanager
def gateway(grpc_port: int) -> Iterator[int]:
    """Serve HTTP in front of a gRPC server on loopback; the port."""
    command = [str(build.ensure()), "--endpoint", f"127.0.0.1:{grpc_port}"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        listens_at = process.stdout.readline()
        assert listens_at, "the gateway has ended instead of listening"
        yield int(listens_at.rpartition(":")[2])
    finally:
        process.kill()
        process.wait(STOP_LIMIT_S)
        process.stdout.close()
