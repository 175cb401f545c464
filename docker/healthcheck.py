# ruff: noqa: INP001 - a program of the images, no part of the package
"""The images' HEALTHCHECK: asks a gRPC server whether it serves, by gRPC's own health protocol.

`python healthcheck.py HOST:PORT [SERVICE]` ends with 0 if the answer is SERVING, else with 1 and
the reason on stderr. Without SERVICE the server as a whole is meant. Kubernetes' probes speak that
protocol themselves and need no program in the image.
"""

from __future__ import annotations

import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

LIMIT_S = 4.0
"""Less than HEALTHCHECK's own time-out, so that the reason is still told."""


def main(target: str, service: str = "") -> int:
    """Ask the server at ``target`` about ``service``; the exit code."""
    with grpc.insecure_channel(target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=LIMIT_S)
        except grpc.RpcError as error:
            sys.stderr.write(f"{target}: {error.code().name} {error.details()}\n")
            return 1
    if answer.status == health_pb2.HealthCheckResponse.SERVING:
        return 0
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    sys.stderr.write(f"{target}: {status}\n")
    return 1


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3}:
        sys.exit("usage: healthcheck.py HOST:PORT [SERVICE]")
    sys.exit(main(*sys.argv[1:]))
