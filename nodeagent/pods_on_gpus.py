"""Which pods have a process on which GPU: looked at from time to time, and when a GPU changes.

A GPU that has fallen off the bus lists no processes any more. Those that it was last seen with,
and that still run, are its.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import structlog

from gpupods.clock import Clock, SystemClock
from gpupods.identity import GpuUuid, Pid
from nodeagent.containers.identity import Identifier
from nodeagent.gpus.sample import GpuSample, GpuSource, Moment
from nodeagent.health.verdict import Standing, Verdict

log = structlog.get_logger()

EVERY_S = 15.0
LOOK_LIMIT_S = 3.0


@dataclass(frozen=True, slots=True, order=True)
class PodOnGpu:
    """A pod, as the runtime's own labels name it."""

    namespace: str
    name: str
    uid: str


PodsByGpu = Mapping[GpuUuid, tuple[PodOnGpu, ...]]


@dataclass(frozen=True, slots=True)
class LastPods:
    """The pods that a GPU was last seen with, of those whose processes still run."""

    at: Moment
    pods: tuple[PodOnGpu, ...]


@dataclass(frozen=True, slots=True)
class _LastSeen:
    """The processes of one GPU, when it last told them."""

    at: Moment
    pids: frozenset[Pid]


class PodsOnGpus:
    """Looks at one node.

    Args:
        gpus: What lists processes; it may be shared with others who ask.
        identifier: What finds their containers.
        every_s: From one look to the next, while nothing happens.
        limit_s: For a look, in each of its two steps.
        clock: To wait by.
    """

    def __init__(
        self,
        gpus: GpuSource,
        identifier: Identifier,
        every_s: float = EVERY_S,
        limit_s: float = LOOK_LIMIT_S,
        clock: Clock | None = None,
    ) -> None:
        self._gpus = gpus
        self._identifier = identifier
        self._every_s = every_s
        self._limit_s = limit_s
        self._clock = clock or SystemClock()
        self._last: dict[GpuUuid, _LastSeen] = {}

    async def run(self) -> None:
        """Keep what GPUs were last seen with, until cancelled."""
        while True:
            self.remember(await self._gpus.sample(self._limit_s))
            await self._clock.sleep(self._every_s)

    async def look(self) -> PodsByGpu:
        """The pods on each GPU now, by namespace and name."""
        self.remember(await self._gpus.sample(self._limit_s))
        return {uuid: last.pods for uuid, last in (await self.last(set(self._last))).items()}

    async def last(
        self, uuids: AbstractSet[GpuUuid], limit_s: float | None = None
    ) -> Mapping[GpuUuid, LastPods]:
        """The pods that these GPUs were last seen with; a GPU that never told is left out.

        ``limit_s``: other than the one of every look.
        """
        seen = {uuid: self._last[uuid] for uuid in uuids if uuid in self._last}
        by_moment: dict[Moment, set[Pid]] = defaultdict(set)
        for each in seen.values():
            by_moment[each.at] |= each.pids
        pods: dict[tuple[Moment, Pid], PodOnGpu] = {}
        for moment, pids in by_moment.items():
            for pid, pod in (await self._pods_of(pids, moment, limit_s)).items():
                pods[moment, pid] = pod
        return {
            uuid: LastPods(
                each.at,
                tuple(sorted({pods[each.at, pid] for pid in each.pids if (each.at, pid) in pods})),
            )
            for uuid, each in seen.items()
        }

    def remember(self, sample: GpuSample) -> None:
        """What each GPU of ``sample`` is seen with, if it tells."""
        if sample.taken is None:
            return
        silent = {missing.subject for missing in sample.missing}
        for gpu in sample.gpus:
            if gpu.uuid not in silent:
                pids = frozenset(process.pid for process in gpu.processes)
                self._last[gpu.uuid] = _LastSeen(sample.taken, pids)

    async def _pods_of(
        self, pids: AbstractSet[Pid], at: Moment, limit_s: float | None
    ) -> dict[Pid, PodOnGpu]:
        if not pids:
            return {}
        found = await self._identifier.identify(sorted(pids), at, limit_s or self._limit_s)
        pods = {}
        for pid, process in found.processes.items():
            container = found.containers.get(process.container) if process.container else None
            if container is not None and container.pod:
                pods[pid] = PodOnGpu(container.namespace, container.pod, container.pod_uid)
        return pods


class Witness:
    """Remembers which pods were on a GPU when its standing changed, however late that is told.

    Args:
        pods: Where to look; None: nowhere.
    """

    def __init__(self, pods: PodsOnGpus | None) -> None:
        self._pods = pods
        self._standing: dict[GpuUuid, Standing] = {}
        self._there: dict[GpuUuid, tuple[PodOnGpu, ...]] = {}
        self._looking: set[asyncio.Task[None]] = set()

    def changed(self, verdicts: Sequence[Verdict]) -> None:
        """Look at the GPUs that stand otherwise than before."""
        standing = {verdict.uuid: verdict.standing for verdict in verdicts}
        before, self._standing = self._standing, standing
        news = [uuid for uuid, now in standing.items() if before.get(uuid, Standing.FIT) != now]
        if self._pods is None or not news:
            return
        task = asyncio.create_task(self._look(self._pods, news))
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def pods_on(self, uuid: str) -> tuple[PodOnGpu, ...]:
        """Those that were on this GPU when it last changed."""
        if self._looking:
            await asyncio.wait(tuple(self._looking), timeout=2 * LOOK_LIMIT_S)
        return self._there.get(GpuUuid(uuid), ())

    async def stop(self) -> None:
        """Look no longer."""
        for task in tuple(self._looking):
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)

    async def _look(self, pods: PodsOnGpus, uuids: Sequence[GpuUuid]) -> None:
        try:
            found = await pods.look()
        except Exception:  # whatever it is, the annotation does not wait for it
            log.exception("report.pods_unknown", gpus=list(uuids))
            return
        for uuid in uuids:
            self._there[uuid] = found.get(uuid, ())
