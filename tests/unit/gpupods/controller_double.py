"""A gRPC server that answers as it is told to: the wire is real, the cluster behind it is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import grpc

from gpupods.errors import REASON_METADATA, StatusError
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc

Answer = Callable[[pb.GetGpuPodsRequest], pb.GetGpuPodsResponse]


@dataclass
class ControllerDouble(pb_grpc.GpuPodsServiceServicer):
    """Serves on loopback while entered; ``answer`` may be changed, ``requests`` are kept."""

    answer: Answer
    requests: list[pb.GetGpuPodsRequest] = field(default_factory=list)
    target: str = ""
    asked: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = grpc.server(ThreadPoolExecutor(4))
        pb_grpc.add_GpuPodsServiceServicer_to_server(self, self._server)
        self.target = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.released.set()
        self._server.stop(None).wait()

    @property
    def port(self) -> int:
        return int(self.target.rpartition(":")[2])

    def GetGpuPods(  # noqa: N802 - the contract's name
        self, request: pb.GetGpuPodsRequest, context: grpc.ServicerContext
    ) -> pb.GetGpuPodsResponse:
        self.requests.append(request)
        self.asked.set()
        try:
            return self.answer(request)
        except StatusError as error:
            context.set_trailing_metadata(((REASON_METADATA, error.reason.value),))
            context.abort(error.code, error.message)
            raise AssertionError("abort returned") from error

    def hang(self, request: pb.GetGpuPodsRequest) -> pb.GetGpuPodsResponse:
        """An ``answer`` that does not come before the server stops."""
        self.released.wait()
        return pb.GetGpuPodsResponse()


def failing(error: StatusError) -> Answer:
    """An ``answer`` that always fails."""

    def fail(_: pb.GetGpuPodsRequest) -> pb.GetGpuPodsResponse:
        raise error

    return fail
