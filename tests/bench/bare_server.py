"""What gRPC in Python costs by itself: `python -m tests.bench.bare_server FILE`.

A server as ours are (grpc.aio on uvloop, the same options), that decodes each request and gives
the message of FILE, encoded anew. Prints where it listens; ends when it is killed.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from gpupods.addresses import HostPort
from gpupods.serving import GrpcServer, run
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc


class BareServicer(pb_grpc.GpuPodsServiceServicer):
    """Answers at once, always the same."""

    def __init__(self, answer: pb.GetGpuPodsResponse) -> None:
        self._answer = answer

    async def GetGpuPods(  # noqa: N802 - the contract's name
        self, request: pb.GetGpuPodsRequest, context: object
    ) -> pb.GetGpuPodsResponse:
        """The answer."""
        return self._answer


async def serve(answer: pb.GetGpuPodsResponse) -> None:
    """For ever."""
    server = GrpcServer([pb.DESCRIPTOR.services_by_name["GpuPodsService"].full_name])
    pb_grpc.add_GpuPodsServiceServicer_to_server(BareServicer(answer), server.registry)
    print(await server.start(HostPort("127.0.0.1", 0)), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    message = pb.GetGpuPodsResponse.FromString(Path(sys.argv[1]).read_bytes())
    run(lambda: serve(message))
