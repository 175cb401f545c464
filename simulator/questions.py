"""The main question, asked as users ask it, and what is wrong with each answer."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlencode

import aiohttp
from google.protobuf import json_format

from gpupods import AsyncClient
from gpupods.identity import PodRef
from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.cluster import SimulatedCluster
from simulator.truth import differences, read_answer, true_answer

LIMIT = aiohttp.ClientTimeout(total=10)
METHOD = "gpupods.v1alpha1.GpuPodsService/GetGpuPods"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and how long it took once the connection stood."""

    response: pb.GetGpuPodsResponse
    took_s: float


class NoUsableAnswerError(Exception):
    """No answer came, or one that cannot be read."""


Way = Callable[[SimulatedCluster, PodRef], Awaitable[Answer]]


async def by_grpc(cluster: SimulatedCluster, pod: PodRef) -> Answer:
    """With the Python client.

    Raises:
        gpupods.GpuPodsError: there is none, and the server says why.
    """
    async with AsyncClient(str(cluster.grpc)) as client:
        await client.get_gpu_pods_message(str(pod))  # opens the connections
        begun = time.perf_counter()
        response = await client.get_gpu_pods_message(str(pod))
        return Answer(response, time.perf_counter() - begun)


async def by_http(cluster: SimulatedCluster, pod: PodRef) -> Answer:
    """As curl does.

    Raises:
        NoUsableAnswerError: an error, or not the contract's JSON.
    """
    async with aiohttp.ClientSession(timeout=LIMIT) as session:
        await _fetch(session, url(cluster, pod))  # opens the connections
        begun = time.perf_counter()
        body = await _fetch(session, url(cluster, pod))
        return Answer(_read(body), time.perf_counter() - begun)


async def _fetch(session: aiohttp.ClientSession, address: str) -> str:
    async with session.get(address) as got:
        body = await got.text()
        if not got.ok:
            raise NoUsableAnswerError(f"HTTP {got.status}: {body}")
        return body


async def by_command(cluster: SimulatedCluster, pod: PodRef) -> Answer:
    """With ``gpupods get -o json``, in a process of its own.

    Raises:
        NoUsableAnswerError: it ended with an error, or printed something else.
    """
    begun = time.perf_counter()
    printed = await run_command(cluster, pod, "-o", "json")
    return Answer(_read(printed), time.perf_counter() - begun)


async def run_command(cluster: SimulatedCluster, pod: PodRef, *options: str) -> str:
    """What ``gpupods get`` prints.

    Raises:
        NoUsableAnswerError: it ended with an error.
    """
    return await run_program("get", str(pod), "--server", str(cluster.grpc), *options)


async def run_program(*arguments: str) -> str:
    """What ``gpupods`` prints, in a process of its own.

    Raises:
        NoUsableAnswerError: it ended with an error.
    """
    command = (sys.executable, "-m", "gpupods.cli", *arguments)
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        out, err = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        how = f"gpupods {arguments[0]} ended with {process.returncode}"
        raise NoUsableAnswerError(f"{how}: {err.decode()}")
    return out.decode()


def url(cluster: SimulatedCluster, pod: PodRef) -> str:
    """What curl is given."""
    query = urlencode({"worker_id": str(pod)}, safe="/")
    return f"http://{cluster.http}/gpu-pods?{query}"


def _read(body: str) -> pb.GetGpuPodsResponse:
    try:
        return json_format.Parse(body, pb.GetGpuPodsResponse())
    except json_format.ParseError as error:
        raise NoUsableAnswerError(f"the answer is not of the contract: {error}") from error


def wrong_with(
    cluster: SimulatedCluster, pod: PodRef, response: pb.GetGpuPodsResponse
) -> list[str]:
    """In what ``response`` to a question about ``pod`` differs from the truth; empty: in nothing.

    Raises:
        ValueError: the pod runs on no node, so there is no true answer.
    """
    node = cluster.truth.refs[pod].node
    if node is None:
        raise ValueError(f"{pod} runs on no node: there is nothing to hold an answer against")
    wrong = differences(true_answer(cluster.truth, node), read_answer(response))
    lacks_driver = not node.gpus
    return wrong + [
        f"misses {part.subject}: {part.reason}"
        for part in response.missing
        if not (lacks_driver and part.kind == pb.MISSING_KIND_DRIVER)
    ]
