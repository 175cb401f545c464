"""A gRPC server that answers what its caller asks for, for the HTTP side to stand in front of.

GetGpuPods fails, waits or shows what it was sent according to worker_id; KindsService echoes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.unit.controller.http import kinds

Context = grpc.aio.ServicerContext[Any, Any]

GPU = "GPU-0a1b"
MAX_UINT64 = (1 << 64) - 1


class Backend:
    """The server; `cancelled` is set when a caller of "wait" has gone away."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.server = grpc.aio.server()
        self.server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(
                    "gpupods.v1alpha1.GpuPodsService",
                    {"GetGpuPods": _unary(self.get_gpu_pods, pb.GetGpuPodsRequest)},
                ),
                grpc.method_handlers_generic_handler(
                    kinds.SERVICE.full_name,
                    {
                        "Echo": _unary(echo, kinds.Everything),
                        "Pattern": _unary(echo, kinds.Everything),
                        "Shadow": _unary(shadow, kinds.Everything),
                        "Hidden": _unary(echo, kinds.Everything),
                        "Watch": grpc.unary_stream_rpc_method_handler(
                            watch, kinds.Everything.FromString, _serialize
                        ),
                    },
                ),
            )
        )

    async def start(self) -> int:
        """Listen on loopback; the port."""
        port = self.server.add_insecure_port("127.0.0.1:0")
        await self.server.start()
        return port

    async def get_gpu_pods(self, request: Any, context: Context) -> pb.GetGpuPodsResponse:
        """Do what the first word of worker_id says; see `_fail` and `_show`."""
        word, _, rest = request.worker_id.partition(" ")
        if word == "wait":
            await self._wait()
        if word == "fail":
            await fail(context, rest)
        if word == "headers":
            await context.send_initial_metadata((("x-seen", "once"), ("x-seen", rest)))
            context.set_trailing_metadata((("x-last", "trailer"),))
        if word == "metadata":
            return _metadata(context)
        if word == "deadline":
            remaining = context.time_remaining()
            return pb.GetGpuPodsResponse(node_name="none" if remaining is None else "some")
        return _answer(request)

    async def _wait(self) -> None:
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


async def fail(context: Context, text: str) -> None:
    """``CODE MESSAGE``, ``details``, ``unknown-details`` or ``mismatch``."""
    if text == "details":
        violation = error_details_pb2.BadRequest.FieldViolation(field="worker_id", description="ü")
        await _abort(context, error_details_pb2.BadRequest(field_violations=[violation]))
    elif text == "known-details":
        await _abort(context, duration_pb2.Duration(seconds=3))
    elif text == "unknown-details":
        await _abort(context, any_pb2.Any(type_url="x/y.Z", value=b"1"))
    elif text == "mismatch":
        status = status_pb2.Status(code=7, message="another")
        metadata = (("grpc-status-details-bin", status.SerializeToString()),)
        await context.abort(grpc.StatusCode.NOT_FOUND, "not there", metadata)
    else:
        code, _, message = text.partition(" ")
        await context.abort(_code(int(code)), message, (("x-reason", "because"),))


async def _abort(context: Context, detail: Message) -> None:
    status = status_pb2.Status(code=3, message="wrong in detail")
    if isinstance(detail, any_pb2.Any):
        status.details.append(detail)
    else:
        status.details.add().Pack(detail)
    metadata = (("grpc-status-details-bin", status.SerializeToString()),)
    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, status.message, metadata)


def _code(number: int) -> grpc.StatusCode:
    return next(code for code in grpc.StatusCode if code.value[0] == number)


def _metadata(context: Context) -> pb.GetGpuPodsResponse:
    """What the caller sent beside the request, one missing part for each pair."""
    response = pb.GetGpuPodsResponse()
    for key, value in sorted(context.invocation_metadata() or ()):
        shown = value if isinstance(value, str) else value.hex()
        response.missing.add(subject=key, reason=shown)
    return response


def _answer(request: pb.GetGpuPodsRequest) -> pb.GetGpuPodsResponse:
    """An answer with everything in it, and the request's own fields."""
    response = pb.GetGpuPodsResponse(node_name=request.worker_id)
    response.sample_time.FromJsonString("2026-11-30T09:10:11.123456Z")
    row = response.GpuPods[GPU].pidPods.add(
        pid=request.max_age_ms,
        processName='Ünïcode 日本 \U0001f600 \u2028 <&> "\\/\b\f\n\r\t\x01\x7f',
        UsedGpuMemory=MAX_UINT64,
        pod="pöd-日本",
        memory_known=request.only_this_pod,
        types=[pb.PROCESS_TYPE_COMPUTE, 77],
    )
    row.owner.kind = "Job"
    row.start_time.FromJsonString("1969-12-31T23:59:59.5Z")
    row.mig.uuid = "MIG-1"
    response.GpuPods["GPU-ü"].SetInParent()
    response.GpuInfos[GPU].memory_total = 1 << 53
    response.unattributed[GPU].processes.add(reason=pb.UNATTRIBUTED_REASON_PID_REUSED)
    response.missing.add(kind=pb.MISSING_KIND_DRIVER, reason="because")
    return response


async def echo(request: Any, context: Context) -> Any:
    return request


async def shadow(request: Any, context: Context) -> Any:
    return kinds.Everything(text="shadow")


async def watch(request: Any, context: Context) -> AsyncIterator[Any]:
    if request.maybe_text == "headers":
        await context.send_initial_metadata((("x-seen", "once"),))
    for number in range(request.u32):
        yield kinds.Everything(u32=number)
    if request.text:
        await fail(context, request.text)


def _unary(behave: Any, request: Any) -> grpc.RpcMethodHandler[Any, Any]:
    return grpc.unary_unary_rpc_method_handler(behave, request.FromString, _serialize)


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()
