"""Whether a controller is ready, told by HTTP when asked and by the gRPC health service always.

Ready is the replica that leads and knows the cluster. Synced is every replica that knows the
cluster: those that wait for their turn answer as well as the leader does, if they are asked.
"""

from __future__ import annotations

import asyncio

import structlog

from controller.cache.cluster import ClusterCache
from controller.cache.informers import Informers
from controller.leader.candidate import Candidate
from gpupods.serving import GrpcServer

log = structlog.get_logger()

SYNCED = "synced"
"""The name by which the health service is asked whether this replica is synced."""

FOREVER_S = 10 * 365 * 86400.0


class Readiness:
    """What may be said of one controller. `run` keeps the health service true to it.

    ``candidate`` is given to it before `run`, which starts it once the cluster is known; without
    one this controller always leads.
    """

    def __init__(self, cache: ClusterCache, informers: Informers, server: GrpcServer) -> None:
        self.candidate: Candidate | None = None
        self._cache = cache
        self._informers = informers
        self._server = server
        self._news = asyncio.Event()
        self._told = ""

    def synced(self) -> tuple[bool, str]:
        """Whether pods and nodes are known, and if not, why."""
        return self._cache.synced, self._cache.why_not_synced()

    def ready(self) -> tuple[bool, str]:
        """Whether they are known and this replica leads, and if not, why."""
        if not self._cache.synced:
            return self.synced()
        if self.candidate is not None and not self.candidate.leads():
            return False, self.candidate.standing()
        return True, ""

    def changed(self) -> None:
        """Something of it may have changed."""
        self._news.set()

    async def run(self) -> None:
        """Have the health service say the same, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._await_sync())
            tasks.create_task(self._follow())

    async def _await_sync(self) -> None:
        await self._informers.wait_synced(FOREVER_S)
        self._news.set()
        if self.candidate is not None:  # not before: a leader that knows nothing is of no use
            await self.candidate.start()

    async def _follow(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            synced, _ = self.synced()
            ready, why_not = self.ready()
            await self._server.set_health(SYNCED, serving=synced)
            await self._server.set_serving(serving=ready)
            if synced:
                self._tell("ready" if ready else "standby", why_not)

    def _tell(self, what: str, why_not: str) -> None:
        if what != self._told:
            counts = {"pods": self._cache.pod_count(), "nodes": self._cache.node_count()}
            log.info(what, **counts, **({"standing": why_not} if why_not else {}))
        self._told = what
