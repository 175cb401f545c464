"""Node agent: GetGpuPods with 200 real containers, 8 GPUs and 32 GPU processes, against plain.

Asked over loopback, by one caller and by ten at once who ask again as soon as they have their
answer. The answers are checked before and after, and are not decoded while time is taken.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

import grpc

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.bench.gpu_node import PROCESSES, GpuNode, ask_once, check_answer, gpu_node
from tests.bench.report import at_least, at_most, latencies, quick, show

METHOD = "/gpupods.v1alpha1.GpuPodsService/GetGpuPods"
CALLERS = 10
BASELINE = "plain"


def main() -> None:
    """Measure and print."""
    containers = 40 if quick() else 200
    with gpu_node(containers) as node:
        ask_once(node)
        alone, together, plain = measure(node)
        ask_once(node)
    figures = [
        *latencies(
            "GetGpuPods alone",
            alone,
            plain,
            BASELINE,
            target_median=at_least(300, of="ratio"),
        ),
        *latencies(f"GetGpuPods, {CALLERS} callers at once", together, target_p99=at_most(10)),
    ]
    show(
        f"node agent, {containers} containers, 8 GPUs, {PROCESSES} GPU processes",
        figures,
        [
            f"{BASELINE}: in each request Tasks.List, ListPids of one task after another, NVML",
            "initialised and shut down; in the caller's own process, no server before it",
        ],
    )


def measure(node: GpuNode) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each call: alone, ten at once, the plain algorithm.

    In turns, so that what else the machine does meanwhile meets all three.
    """
    alone: list[float] = []
    together: list[float] = []
    plain: list[float] = []
    rounds = 2 if quick() else 6
    for _ in range(rounds):
        plain += ask_plain(node, 2)
        alone += asyncio.run(ask(node, callers=1, times=200))
        together += asyncio.run(ask(node, callers=CALLERS, times=100))
    return alone, together, plain


async def ask(node: GpuNode, *, callers: int, times: int) -> list[float]:
    """Seconds of each of ``callers`` x ``times`` calls, each caller with a channel of its own."""
    request = pb.GetGpuPodsRequest(worker_id=node.pod_map).SerializeToString()
    several = await asyncio.gather(
        *(_caller(node.address, request, times, number) for number in range(callers))
    )
    return [seconds for one in several for seconds in one]


async def _caller(address: str, request: bytes, times: int, number: int) -> list[float]:
    options = [("grpc.use_local_subchannel_pool", 1), ("caller", number)]
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        call: Any = channel.unary_unary(METHOD, None, None)
        check_answer(pb.GetGpuPodsResponse.FromString(await call(request)))
        took = []
        for _ in range(times):
            began = time.perf_counter()
            await call(request)
            took.append(time.perf_counter() - began)
        return took


def ask_plain(node: GpuNode, times: int) -> list[float]:
    """Seconds of each run of the plain algorithm, once it has run before."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.plain_agent", str(node.containerd.socket)],
        input=f"{node.pod_map}\n" * (times + 1),
        env=node.driver.environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(answer["rows"] == PROCESSES for answer in answers), answers
    return [answer["seconds"] for answer in answers[1:]]
