"""Node agent: GetGpuPods with 200 real containers, 8 GPUs and 32 GPU processes, against plain.

Asked over loopback from another process, by one caller and by ten at once, who ask again as soon
as they have their answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.bench import loading
from tests.bench.gpu_node import PROCESSES, GpuNode, ask_once, gpu_node
from tests.bench.report import at_least, at_most, latencies, quick, show

CALLERS = 10
BASELINE = "plain"


def main() -> None:
    """Measure and print."""
    containers = 40 if quick() else 200
    with gpu_node(containers) as node:
        ask_once(node)
        alone, together, plain = measure(node)
        ask_once(node)
    show(
        f"node agent, {containers} containers, 8 GPUs, {PROCESSES} GPU processes",
        [
            *latencies(
                "GetGpuPods alone", alone, plain, BASELINE, target_median=at_least(300, of="ratio")
            ),
            *latencies(f"GetGpuPods, {CALLERS} callers at once", together, target_p99=at_most(10)),
        ],
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
    for _ in range(2 if quick() else 6):
        plain += ask_plain(node, 2)
        alone += ask(node, callers=1)
        together += ask(node, callers=CALLERS)
    return alone, together, plain


def ask(node: GpuNode, *, callers: int) -> list[float]:
    """Seconds of each call, each caller with a connection of its own."""
    load = loading.Loader(loading.build(), callers, seconds=1.0 if quick() else 2.0)
    with tempfile.NamedTemporaryFile() as request:
        message = pb.GetGpuPodsRequest(worker_id=node.pod_map)
        Path(request.name).write_bytes(message.SerializeToString())
        return list(load.grpc(node.address, loading.METHOD, Path(request.name)).latencies_s)


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
