"""Many reporters against one real API server, all of whose GPUs fail at the same moment.

They share one process, which is what bounds how fast they are: 1,000 nodes have 1,000 of them.
What is counted is the API server's audit log.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from gpupods.identity import GpuUuid
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.logs import LogFormat, LogLevel, configure_logs
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.observations import (
    DriverRead,
    ListedGpu,
    Presence,
    Reading,
    XidOfGpu,
    XidSeen,
)
from nodeagent.reporting.reporter import Reporter
from tests.bench.report import Figure, at_most, percentile, show
from tests.e2e.audited import AuditedApiserver
from tests.realparts import objects

LIMIT_S = 300.0
PATCHED_OK = 200


@dataclass
class Together:
    """What came of one failure of all nodes."""

    nodes: int
    patches: dict[str, int]
    """By node."""
    at_s: list[float]
    """When each patch was answered, after the first of them."""
    failed: int = 0
    """Attempts that were not answered, or refused."""

    @property
    def lost(self) -> int:
        return self.nodes - len(self.patches)

    @property
    def most(self) -> int:
        return max(self.patches.values(), default=0)


@dataclass
class Fleet:
    """The same twice: with the API server there, and away for a while."""

    there: Together
    away: Together


def measure(server: AuditedApiserver, nodes: int) -> Fleet:
    """Let all of them fail, twice."""
    configure_logs(LogFormat.JSON, LogLevel.ERROR)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 16_384)), hard))
    names = [f"fleet-{number}" for number in range(nodes)]
    server.load(objects.node(name, "127.0.0.1") | KIND for name in names)
    return asyncio.run(_measure(server, names))


KIND = {"kind": "Node", "apiVersion": "v1"}


async def _measure(server: AuditedApiserver, names: list[str]) -> Fleet:
    access = KubeAccess.load(str(server.kubeconfig))
    apis = [KubeApi(access) for _ in names]
    monitors = [HealthMonitor() for _ in names]
    reporters = [
        Reporter(api, name, monitor)
        for api, name, monitor in zip(apis, names, monitors, strict=True)
    ]
    for monitor in monitors:
        monitor.tell(DriverRead((_gpu(0), _gpu(1))))
    for reporter in reporters:
        await reporter.start()
    await _until(lambda: all(reporter.status.follows for reporter in reporters))
    there = await _fail(server, names, monitors, reporters, 0)
    there.failed = sum(reporter.status.failed for reporter in reporters)
    await asyncio.to_thread(server.stop)
    for monitor in monitors:
        monitor.tell(_xid(1))
    await _until(lambda: all(reporter.status.failed for reporter in reporters))
    away_since = time.time()
    await asyncio.to_thread(server.start)
    await _until(lambda: all(reporter.status.written == 2 for reporter in reporters))
    away = _counted(server, names, away_since)
    away.failed = sum(reporter.status.failed for reporter in reporters) - there.failed
    for reporter in reporters:
        await reporter.stop()
    for api in apis:
        await api.close()
    return Fleet(there, away)


async def _fail(
    server: AuditedApiserver,
    names: list[str],
    monitors: list[HealthMonitor],
    reporters: list[Reporter],
    index: int,
) -> Together:
    began = time.time()
    for monitor in monitors:
        monitor.tell(_xid(index))
    await _until(lambda: all(reporter.status.written for reporter in reporters))
    return _counted(server, names, began)


def _counted(server: AuditedApiserver, names: list[str], since: float) -> Together:
    wanted = set(names)
    patched = [
        (each.name, each.at)
        for each in server.writes()
        if each.what == "nodes/status" and each.code == PATCHED_OK and each.at >= since
    ]
    of_these = [(name, at) for name, at in patched if name in wanted]
    first = min(at for _, at in of_these)
    return Together(
        len(names),
        dict(Counter(name for name, _ in of_these)),
        sorted(at - first for _, at in of_these),
    )


async def _until(right: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not right():  # noqa: ASYNC110 - of a thousand reporters
            await asyncio.sleep(0.02)


def _gpu(index: int) -> ListedGpu:
    uuid = GpuUuid(f"GPU-{index}")
    return ListedGpu(index, uuid, f"00000000:0{index}:00.0", "H100", Reading(Presence.PRESENT, 0))


def _xid(index: int) -> XidOfGpu:
    at_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    return XidOfGpu(GpuUuid(f"GPU-{index}"), "", XidSeen(142, at_s, "nvml"))


def tell(fleet: Fleet) -> None:
    """Print."""
    nodes = fleet.there.nodes
    figures = []
    for name, found in (("API server there", fleet.there), ("away meanwhile", fleet.away)):
        figures += [
            Figure(f"{name}: nodes without their patch", found.lost, "", target=at_most(0)),
            Figure(f"{name}: patches of a node, most", found.most, "", target=at_most(1)),
            Figure(f"{name}: attempts in vain", found.failed, ""),
            Figure(f"{name}: half of them after the first", percentile(found.at_s, 50), "s"),
            Figure(f"{name}: all of them after the first", found.at_s[-1], "s"),
            Figure(f"{name}: patches in one second, most", _busiest(found.at_s), ""),
        ]
    show(
        f"{nodes:,} nodes whose GPU fails at the same moment, one real API server",
        figures,
        [
            "counted in the API server's audit log; all reporters are in one process, which takes",
            "longer for them than their nodes would",
        ],
    )


def _busiest(at_s: list[float]) -> int:
    return max(Counter(int(at) for at in at_s).values(), default=0)
