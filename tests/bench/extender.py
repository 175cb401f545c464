"""Scheduler extender: filter over 5,000 nodes of 8 GPUs, as a call and over HTTP.

The baseline does without state that is kept: it counts each node's cards from its pods when asked.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import aiohttp
import msgspec
import uvloop

from controller.cache.cluster import NODES, PODS, ClusterCache
from controller.cache.records import NodeRecord, PodGpus, PodRecord
from controller.extender.binding import Binder
from controller.extender.leadership import LeaderPod, Leadership
from controller.extender.service import FILTER, PRIORITIZE, Extender
from controller.http.server import HttpServer
from gpupods.accounting.cards import Claim, account, capacity_of
from gpupods.accounting.indexes import format_index
from gpupods.accounting.names import GPU_MEMORY
from gpupods.accounting.request import GpuRequest
from gpupods.addresses import HostPort
from gpupods.identity import NodeName, PodUid
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.logs import LogFormat, LogLevel, configure_logs
from tests.bench.report import Figure, at_most, latencies, median, quick, show

NODE_COUNT, GPUS, CARD = 5_000, 8, 80
UNFIT = 0.02
PODS_A_NODE = 6
WHOLE_NODES = 500
"""Nodes that are sent whole, where names are not enough."""
NODE_BYTES = 12_000
BASELINE = "counted when asked"


def main() -> None:
    """Measure and print."""
    configure_logs(LogFormat.JSON, LogLevel.ERROR)
    uvloop.run(measure())


async def measure() -> None:
    """All of it."""
    cache = filled()
    started = time.perf_counter()
    cache.gpus.states()
    first_ms = (time.perf_counter() - started) * 1000
    api = KubeApi(KubeAccess.without_credentials("http://127.0.0.1:9"))
    leadership = Leadership(None, 0.0)
    extender = Extender(
        cache,
        Binder(cache, api, leadership, lambda: "", 1.0),
        leadership,
        LeaderPod(api, "gpupods-system", 0),
    )
    count = 20 if quick() else 200
    figures = await figures_of(extender, cache, count)
    show(
        f"Scheduler extender: {NODE_COUNT:,} nodes of {GPUS} GPUs, {PODS_A_NODE} pods on each, "
        f"{UNFIT:.0%} of the GPUs unfit",
        figures,
        [
            f"{BASELINE}: the same filter, over the same records, without states that are kept",
            f"the states of all nodes, made once after the cluster was listed: {first_ms:.0f} ms",
            "of a pod that fits nowhere, 10 ms are spent waiting for news on purpose",
        ],
    )


async def figures_of(extender: Extender, cache: ClusterCache, count: int) -> list[Figure]:
    """A line each."""
    names = [str(node.name) for node in cache.nodes()]
    some, many = request(20, names), request(CARD + 1, names)
    nodes = [padded(name) for name in names[:WHOLE_NODES]]
    whole = request(20, None, nodes)
    figures = latencies(
        "filter, the call",
        await times(lambda: extender.filter(some), count),
        await times(lambda: counted_when_asked(cache, some), max(5, count // 20)),
        BASELINE,
        target_median=at_most(20),
    )
    server = HttpServer([], None, 5.0, posts=extender.posts())  # type: ignore[arg-type]
    address = await server.start(HostPort("127.0.0.1", 0))
    async with aiohttp.ClientSession() as client:

        async def post(path: str, body: bytes) -> None:
            async with client.post(f"http://{address}{path}", data=body) as response:
                await response.read()

        over_http = await times(lambda: post(FILTER, some), count)
        figures += latencies("filter, over HTTP", over_http, target_median=at_most(20))
        figures += latencies(
            "filter, fits nowhere, over HTTP", await times(lambda: post(FILTER, many), count)
        )
        figures += latencies(
            "prioritize, over HTTP", await times(lambda: post(PRIORITIZE, some), count)
        )
        sent_whole = await times(lambda: post(FILTER, whole), max(5, count // 10))
        megabytes = f"{len(whole) / 1e6:.0f} MB"
        figures += latencies(f"filter, {WHOLE_NODES} nodes sent whole ({megabytes})", sent_whole)
    await server.stop(0.1)
    figures.append(
        Figure("filter after a change of one node, median", median(changed(cache, count)), "us")
    )
    return figures


async def times(work: Callable[[], Awaitable[object]], count: int) -> list[float]:
    """Seconds of each of ``count`` calls, after a few that are not counted."""
    for _ in range(3):
        await work()
    taken = []
    for _ in range(count):
        started = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - started)
    return taken


def changed(cache: ClusterCache, count: int) -> list[float]:
    """Microseconds that the state of a node takes after one of its pods has changed."""
    taken = []
    pods = random.Random(2).choices(list(cache.pods()), k=count)
    for pod in pods:
        cache.remove_pod(pod.uid)
        cache.put_pod(pod)
        started = time.perf_counter()
        cache.gpus.states()
        taken.append((time.perf_counter() - started) * 1e6)
    return taken


async def counted_when_asked(cache: ClusterCache, body: bytes) -> bytes:
    """The baseline."""
    asked = json.loads(body)
    wanted = GpuRequest(
        int(asked["Pod"]["spec"]["containers"][0]["resources"]["limits"][GPU_MEMORY]), 0
    )
    fitting, failed = [], {}
    for name in asked["NodeNames"]:
        node = cache.node(NodeName(name))
        assert node is not None
        claims = [
            Claim(str(pod.ref), pod.gpus.request, pod.gpus.index)
            for pod in cache.pods_on(node.name)
            if pod.gpus is not None
        ]
        capacity = capacity_of(node.gpu_memory, node.gpu_number)
        if account(capacity, node.unhealthy_ids, claims).takes(wanted):
            fitting.append(name)
        else:
            failed[name] = "no"
    return msgspec.json.encode({"NodeNames": fitting, "FailedNodes": failed})


def request(
    memory: int, names: Sequence[str] | None, nodes: Sequence[dict[str, Any]] | None = None
) -> bytes:
    """As kube-scheduler sends it."""
    limits = {GPU_MEMORY: str(memory), "cpu": "8"}
    pod = {
        "metadata": {"name": "train-0", "namespace": "team", "uid": "uid-of-train-0"},
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}]},
        "status": {"phase": "Pending"},
    }
    listed = None if nodes is None else {"metadata": {}, "items": nodes}
    return json.dumps({"Pod": pod, "Nodes": listed, "NodeNames": names}).encode()


def padded(name: str) -> dict[str, Any]:
    """A node of the usual size."""
    return {"metadata": {"name": name}, "status": {"images": ["x" * 100] * (NODE_BYTES // 100)}}


def filled() -> ClusterCache:
    """A cluster that is busy: about a third of its nodes is full."""
    draw = random.Random(1)
    cache = ClusterCache()
    for number in range(NODE_COUNT):
        name = NodeName(f"gpu-node-{number:04}")
        unfit = [index for index in range(GPUS) if draw.random() < UNFIT]
        cache.put_node(
            NodeRecord(
                name,
                f"uid-{name}",
                ("10.0.0.1",),
                has_gpus=True,
                unhealthy_ids=format_index(unfit) or None,
                gpu_memory=str(GPUS * CARD),
                gpu_number=str(GPUS),
            )
        )
        for index in range(GPUS if draw.random() < 1 / 3 else PODS_A_NODE):
            cache.put_pod(_pod(name, index, 70 if draw.random() < 0.9 else 30))
    cache.report_listed(PODS)
    cache.report_listed(NODES)
    return cache


def _pod(node: NodeName, index: int, memory: int) -> PodRecord:
    name = f"train-{node}-{index}"
    gpus = PodGpus(GpuRequest(memory, 0), str(index))
    return PodRecord(PodUid(f"uid-{name}"), "team", name, node, "Running", gpus=gpus)


if __name__ == "__main__":
    asyncio.run(measure())
