"""A gRPC server that answers as it is told to: the wire is real, the cluster behind it is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import NoReturn, Self

import grpc

from gpupods.errors import REASON_METADATA, StatusError
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from gpupods.v1alpha1 import health_pb2, health_pb2_grpc

Answer = Callable[[pb.GetGpuPodsRequest], pb.GetGpuPodsResponse]
ListAnswer = Callable[[health_pb2.ListGpusRequest], health_pb2.ListGpusResponse]


@dataclass
class ControllerDouble(pb_grpc.GpuPodsServiceServicer, health_pb2_grpc.GpuHealthServiceServicer):
    """Serves on loopback while entered; its answers may be changed, requests are kept."""

    answer: Answer
    list_answer: ListAnswer = lambda _: health_pb2.ListGpusResponse()
    requests: list[pb.GetGpuPodsRequest] = field(default_factory=list)
    list_requests: list[health_pb2.ListGpusRequest] = field(default_factory=list)
    target: str = ""
    asked: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = grpc.server(ThreadPoolExecutor(4))
        pb_grpc.add_GpuPodsServiceServicer_to_server(self, self._server)
        health_pb2_grpc.add_GpuHealthServiceServicer_to_server(self, self._server)
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
            return _abort(context, error)

    def ListGpus(  # noqa: N802 - the contract's name
        self, request: health_pb2.ListGpusRequest, context: grpc.ServicerContext
    ) -> health_pb2.ListGpusResponse:
        self.list_requests.append(request)
        try:
            return self.list_answer(request)
        except StatusError as error:
            return _abort(context, error)

    def hang(self, request: pb.GetGpuPodsRequest) -> pb.GetGpuPodsResponse:
        """An ``answer`` that does not come before the server stops."""
        self.released.wait()
        return pb.GetGpuPodsResponse()


def _abort(context: grpc.ServicerContext, error: StatusError) -> NoReturn:
    context.set_trailing_metadata(((REASON_METADATA, error.reason.value),))
    context.abort(error.code, error.message)
    raise AssertionError("abort returned") from error


def failing(error: StatusError) -> Answer:
    """An ``answer`` that always fails."""

    def fail(_: pb.GetGpuPodsRequest) -> pb.GetGpuPodsResponse:
        raise error

    return fail
