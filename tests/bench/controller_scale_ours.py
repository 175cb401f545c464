"""The controller's own process for `controller_scale`: all of it, measured from within."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import aiohttp
import uvloop

from controller.cache.cluster import ClusterCache
from controller.cache.records import PodRecord
from controller.controller import Controller
from controller.resolve import resolve
from controller.settings import ControllerSettings
from gpupods.addresses import HostPort
from gpupods.kube.access import KubeAccess
from gpupods.logs import LogFormat, LogLevel, configure_logs
from tests.bench.controller_scale_server import stamp_of

SYNC_LIMIT_S = 300.0
RATE = 1000
LOOKUPS = 10_000
SCANS = 20
ANY_PORT = HostPort("127.0.0.1", 0)


async def measure(url: str, events: int) -> dict[str, object]:
    """Follow the server at ``url``; what was found, by name."""
    settings = ControllerSettings(grpc_listen=ANY_PORT, http_listen=ANY_PORT)
    controller = Controller(settings, KubeAccess.without_credentials(url))
    started = time.perf_counter()
    await controller.start()
    try:
        if not await controller.informers.wait_synced(SYNC_LIMIT_S):
            sys.exit(f"not synced: {controller.cache.why_not_synced()}")
        synced_s = time.perf_counter() - started
        found: dict[str, object] = {"synced_s": synced_s, "resident_mib": memory_mib("VmRSS")}
        found["peak_mib"] = memory_mib("VmHWM")
        found["states_s"] = timed(controller.cache.gpus.states)
        found |= await measure_events(controller, url, events)
        found |= measure_resolving(controller.cache)
        found["collection_ms"] = collection_ms()
        found["pods"] = controller.cache.pod_count()
        found["resident_after_events_mib"] = memory_mib("VmRSS")
        return found
    finally:
        await controller.stop()


async def measure_events(controller: Controller, url: str, events: int) -> dict[str, object]:
    """Delays in seconds from the sending of an event to when a query can see it."""
    delays = watch_arrivals(controller.cache)
    while controller.informers.status()[0].watches == 0:  # noqa: ASYNC110 - a number, no event
        await asyncio.sleep(0.01)
    cpu = time.process_time()
    async with aiohttp.ClientSession() as session:
        query = {"rate": str(RATE), "count": str(events)}
        async with session.post(f"{url}/events", params=query) as response:
            response.raise_for_status()
    async with asyncio.timeout(SYNC_LIMIT_S):
        while len(delays) < events:  # noqa: ASYNC110 - a number, no event
            await asyncio.sleep(0.01)
    return {"delays_s": delays, "event_us": (time.process_time() - cpu) / events * 1e6}


def watch_arrivals(cache: ClusterCache) -> list[float]:
    """Note the delay of each stamped event when the cache has taken it."""
    delays: list[float] = []
    put = cache.put_pod

    def put_and_note(pod: PodRecord) -> None:
        put(pod)
        stamp = stamp_of(pod.containers[0][0])
        if stamp:
            delays.append((time.monotonic_ns() - stamp) / 1e9)

    cache.put_pod = put_and_note  # type: ignore[method-assign]
    return delays


def measure_resolving(cache: ClusterCache) -> dict[str, object]:
    """Seconds for each way to name a pod, and for a scan that finds it without an index."""
    pods = random.Random(1).choices(list(cache.pods()), k=LOOKUPS)
    ways = {
        "uid": [str(pod.uid) for pod in pods],
        "namespace/name": [str(pod.ref) for pod in pods],
        "name": [pod.name for pod in pods],
    }
    return {
        "resolve_s": {
            way: [timed(partial(resolve, worker_id, cache)) for worker_id in worker_ids]
            for way, worker_ids in ways.items()
        },
        "scan_s": [timed(partial(scan, pod.name, cache)) for pod in pods[:SCANS]],
        "map_s": [timed(partial(cache.container_map, pod.node)) for pod in pods],
    }


def scan(name: str, cache: ClusterCache) -> list[PodRecord]:
    """What resolving would be without indexes."""
    return [pod for pod in cache.pods() if pod.name == name]


def collection_ms() -> float:
    """Processor time of a full garbage collection, not the first."""
    gc.collect()
    started = time.process_time()
    gc.collect()
    return (time.process_time() - started) * 1000


def timed(work: Callable[[], object]) -> float:
    """Seconds."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def memory_mib(name: str) -> float:
    """A line of this process' status, which is in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    configure_logs(LogFormat.JSON, LogLevel.WARNING)
    print(json.dumps(uvloop.run(measure(sys.argv[1], int(sys.argv[2])))))
