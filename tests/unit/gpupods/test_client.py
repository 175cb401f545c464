"""Both clients against a real gRPC server: the same question, answer and errors."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import grpc
import pytest

from gpupods import (
    AccessDenied,
    AmbiguousPod,
    AsyncClient,
    Client,
    DeadlineExceeded,
    GpuPodsAnswer,
    GpuPodsError,
    InvalidPodId,
    NotReady,
    PodNotFound,
    PodNotScheduled,
    Unavailable,
    Unreachable,
)
from gpupods.errors import Reason, StatusError, failed_precondition, not_found, unavailable
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.unit.gpupods.answers import GPU0, busy_node
from tests.unit.gpupods.controller_double import ControllerDouble, failing

NOBODY = "127.0.0.1:1"
NO_TARGETS = [
    "",
    "localhost",
    "a:b",
    "::1:80",
    "127.0.0.1:0",
    "http://127.0.0.1:80",
    "a b:80",
    "a\nb:80",
    "a/b:80",
]

Get = Callable[..., Awaitable[GpuPodsAnswer]]


async def _by_blocking(target: str, pod: str, **options: object) -> GpuPodsAnswer:
    with Client(target) as client:
        return client.get_gpu_pods(pod, **options)  # type: ignore[arg-type]


async def _by_asyncio(target: str, pod: str, **options: object) -> GpuPodsAnswer:
    async with AsyncClient(target) as client:
        return await client.get_gpu_pods(pod, **options)  # type: ignore[arg-type]


@pytest.fixture(params=[_by_blocking, _by_asyncio], ids=["blocking", "asyncio"])
def get(request: pytest.FixtureRequest) -> Get:
    got: Get = request.param
    return got


async def test_answers_with_typed_values(controller: ControllerDouble, get: Get) -> None:
    answer = await get(controller.target, "team-a/train-0")
    assert answer.node == "gpu-node-1"
    assert answer.sampled_at == datetime(2026, 11, 30, 9, 0, 0, 250_000, tzinfo=UTC)
    assert answer.complete
    assert [gpu.info.index for gpu in answer.gpus] == [0, 1, 2, 3]
    first = answer.gpus[0]
    assert first.info.uuid == GPU0
    assert [(row.pid, row.namespace, row.pod, row.memory_mib) for row in first.rows] == [
        (4711, "team-a", "train-0", 61440),
        (5120, "research", "notebook", 38),
    ]
    assert [process.name for process in first.unattributed] == ["Xorg"]


async def test_passes_the_question_on(controller: ControllerDouble, get: Get) -> None:
    await get(controller.target, "train-0", only_this_pod=True, max_age_s=1.5)
    assert controller.requests == [
        pb.GetGpuPodsRequest(worker_id="train-0", only_this_pod=True, max_age_ms=1500)
    ]


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (StatusError(grpc.StatusCode.INVALID_ARGUMENT, "no pod's name"), InvalidPodId),
        (not_found("there is no pod named 'x'"), PodNotFound),
        (failed_precondition("its node has no InternalIP"), NotReady),
        (failed_precondition("2 pods are named x", Reason.AMBIGUOUS_POD), AmbiguousPod),
        (failed_precondition("no node yet", Reason.POD_NOT_SCHEDULED), PodNotScheduled),
        (StatusError(grpc.StatusCode.PERMISSION_DENIED, "not yours"), AccessDenied),
        (StatusError(grpc.StatusCode.UNAUTHENTICATED, "who are you"), AccessDenied),
        (StatusError(grpc.StatusCode.DEADLINE_EXCEEDED, "agent was late"), DeadlineExceeded),
        (StatusError(grpc.StatusCode.INTERNAL, "KeyError"), GpuPodsError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
async def test_each_status_is_its_own_exception(
    controller: ControllerDouble, get: Get, raised: StatusError, expected: type[GpuPodsError]
) -> None:
    controller.answer = failing(raised)
    with pytest.raises(GpuPodsError) as caught:
        await get(controller.target, "x")
    assert type(caught.value) is expected
    assert caught.value.message == raised.message
    assert caught.value.code == raised.code.name
    assert len(controller.requests) == 1  # none of these is worth a second try


async def test_unavailable_is_tried_again(controller: ControllerDouble, get: Get) -> None:
    def second_time_lucky(_: pb.GetGpuPodsRequest) -> pb.GetGpuPodsResponse:
        if len(controller.requests) == 1:
            raise unavailable("cache not synced")
        return busy_node()

    controller.answer = second_time_lucky
    assert (await get(controller.target, "train-0")).node == "gpu-node-1"
    assert len(controller.requests) == 2


async def test_unavailable_in_the_servers_words(controller: ControllerDouble, get: Get) -> None:
    controller.answer = failing(unavailable("the agent of node 'a' was not reached"))
    with pytest.raises(Unavailable) as caught:
        await get(controller.target, "train-0")
    assert type(caught.value) is Unavailable
    assert caught.value.message == "the agent of node 'a' was not reached"
    assert len(controller.requests) == 5


async def test_nobody_listens(get: Get) -> None:
    with pytest.raises(Unreachable) as caught:
        await get(NOBODY, "train-0")
    assert caught.value.message.startswith(f"{NOBODY} was not reached: ")
    assert "refused" in caught.value.message


async def test_retries_end_with_the_deadline(controller: ControllerDouble, get: Get) -> None:
    controller.answer = failing(unavailable("not yet"))
    with pytest.raises(DeadlineExceeded):
        await get(controller.target, "train-0", timeout_s=0.05)
    assert len(controller.requests) < 5


async def test_server_that_does_not_answer(controller: ControllerDouble, get: Get) -> None:
    controller.answer = controller.hang
    with pytest.raises(DeadlineExceeded) as caught:
        await get(controller.target, "train-0", timeout_s=0.2)
    assert caught.value.message == f"{controller.target} did not answer within 0.2 s"


@pytest.mark.parametrize("timeout_s", [0, 0.0, -1.0, float("nan"), float("inf")])
async def test_a_timeout_that_is_none(
    controller: ControllerDouble, get: Get, timeout_s: float
) -> None:
    with pytest.raises(ValueError, match=r"timeout_s is .*: give more than 0 seconds"):
        await get(controller.target, "train-0", timeout_s=timeout_s)
    assert controller.requests == []


async def test_something_else_listens(get: Get) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    other = grpc.server(ThreadPoolExecutor(1))
    port = other.add_insecure_port("127.0.0.1:0")
    other.start()
    try:
        with pytest.raises(GpuPodsError, match="is not gpupods") as caught:
            await get(f"127.0.0.1:{port}", "train-0")
    finally:
        other.stop(None)
    assert caught.value.code == "UNIMPLEMENTED"


async def test_answer_larger_than_grpcs_own_limit(controller: ControllerDouble, get: Get) -> None:
    def huge(_: pb.GetGpuPodsRequest) -> pb.GetGpuPodsResponse:
        response = busy_node()
        response.missing.add(reason="x" * 5_000_000)
        return response

    controller.answer = huge
    answer = await get(controller.target, "train-0")
    assert len(answer.missing[0].reason) == 5_000_000


@pytest.mark.parametrize("max_age_s", [-1.0, float("nan"), 2.0**32])
async def test_ages_that_cannot_be_asked_for(
    controller: ControllerDouble, get: Get, max_age_s: float
) -> None:
    with pytest.raises(ValueError, match="max_age_s"):
        await get(controller.target, "train-0", max_age_s=max_age_s)
    assert controller.requests == []


@pytest.mark.parametrize("target", NO_TARGETS)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_targets_that_are_no_addresses(kind: type, target: str) -> None:
    with pytest.raises(ValueError, match=r"HOST:PORT|number|brackets|port 0|no host"):
        kind(target)


async def test_closed_clients_refuse(controller: ControllerDouble) -> None:
    blocking = Client(controller.target)
    blocking.close()
    blocking.close()
    with pytest.raises(ValueError, match="closed"):
        blocking.get_gpu_pods("x")
    asynchronous = AsyncClient(controller.target)
    await asynchronous.close()
    await asynchronous.close()
    with pytest.raises(ValueError, match="closed"):
        await asynchronous.get_gpu_pods("x")


def test_threads_share_a_client(controller: ControllerDouble) -> None:
    nodes: list[str | None] = []
    with Client(controller.target) as client:
        threads = [
            threading.Thread(target=lambda: nodes.append(client.get_gpu_pods("x").node))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert nodes == ["gpu-node-1"] * 8


def test_the_proxy_of_the_environment_is_not_asked_for_loopback(
    controller: ControllerDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, f"http://{NOBODY}")
    with Client(controller.target) as client:
        assert client.get_gpu_pods("x").node == "gpu-node-1"
