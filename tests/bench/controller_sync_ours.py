"""One process of ours for `controller_sync`: fills the cache, says how long that took, stays."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import uvloop

from controller.cache.cluster import ClusterCache
from controller.cache.informers import Informers
from gpupods.kube.access import KubeAccess
from gpupods.logs import LogFormat, LogLevel, configure_logs

LIMIT_S = 300.0


async def fill(kubeconfig: str) -> None:
    """Print a line of JSON when synced; end when stdin does."""
    access = KubeAccess.load(kubeconfig)
    cache = ClusterCache()
    informers = Informers(access, cache)
    started = time.perf_counter()
    await informers.start()
    if not await informers.wait_synced(LIMIT_S):
        sys.exit(f"not synced within {LIMIT_S:g} s: {cache.why_not_synced()}")
    took = time.perf_counter() - started
    report = {"synced_s": took, "pods": cache.pod_count(), "nodes": cache.node_count()}
    print(json.dumps(report), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await informers.stop()


if __name__ == "__main__":
    configure_logs(LogFormat.JSON, LogLevel.WARNING)
    uvloop.run(fill(sys.argv[1]))
