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
    """The processes of one GPU, each with when it was listed: a pid alone may be reused.

    Attributes:
        at: When the GPU last told of any.
        whole: What it had when it last told of all.
        part: What it has told of since, where some of its lists could not be got.
    """

    at: Moment
    whole: Mapping[Pid, Moment]
    part: Mapping[Pid, Moment]

    @property
    def listed(self) -> Mapping[Pid, Moment]:
        """All of them."""
        return {**self.whole, **self.part}


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
            try:
                self.remember(await self._gpus.sample(self._limit_s))
            except Exception:  # a bug of ours: the next look is none the worse for it
                log.exception("pods_on_gpus.look_failed")
            await self._clock.sleep(self._every_s)

    async def look(self) -> PodsByGpu:
        """The pods on each GPU now, by namespace and name."""
        self.remember(await self._gpus.sample(self._limit_s))
        found = await self.last(set(self._last), self._limit_s)
        return {uuid: last.pods for uuid, last in found.items()}

    async def last(self, uuids: AbstractSet[GpuUuid], limit_s: float) -> Mapping[GpuUuid, LastPods]:
        """The pods that these GPUs were last seen with; a GPU that never told is left out.

        ``limit_s`` is for all of it: pods that are not found in that time are not named.
        """
        seen = {uuid: self._last[uuid] for uuid in uuids if uuid in self._last}
        pods = await self._pods(
            {item for each in seen.values() for item in each.listed.items()}, limit_s
        )
        return {
            uuid: LastPods(
                each.at, tuple(sorted({pods[item] for item in each.listed.items() if item in pods}))
            )
            for uuid, each in seen.items()
        }

    def remember(self, sample: GpuSample) -> None:
        """What each GPU of ``sample`` is seen with, as far as it tells, and if that is news."""
        taken = sample.taken
        if taken is None:
            return
        for gpu in sample.gpus:
            known = self._last.get(gpu.uuid)
            if known is not None and _before(taken, known.at):
                continue  # somebody was content with an older sample
            listed = {process.pid: taken for process in gpu.processes}
            if gpu.processes_whole:
                self._last[gpu.uuid] = _LastSeen(taken, listed, {})
            elif listed:
                whole = {} if known is None else known.whole
                self._last[gpu.uuid] = _LastSeen(taken, whole, listed)

    async def _pods(
        self, listed: AbstractSet[tuple[Pid, Moment]], limit_s: float
    ) -> dict[tuple[Pid, Moment], PodOnGpu]:
        ends = self._clock.monotonic() + limit_s
        by_moment: dict[Moment, set[Pid]] = defaultdict(set)
        for pid, moment in listed:
            by_moment[moment].add(pid)
        pods: dict[tuple[Pid, Moment], PodOnGpu] = {}
        for moment, pids in by_moment.items():
            left_s = max(0.0, ends - self._clock.monotonic())
            for pid, pod in (await self._pods_of(pids, moment, left_s)).items():
                pods[pid, moment] = pod
        return pods

    async def _pods_of(
        self, pids: AbstractSet[Pid], at: Moment, limit_s: float
    ) -> dict[Pid, PodOnGpu]:
        found = await self._identifier.identify(sorted(pids), at, limit_s)
        pods = {}
        for pid, process in found.processes.items():
            container = found.containers.get(process.container) if process.container else None
            if container is not None and container.pod:
                pods[pid] = PodOnGpu(container.namespace, container.pod, container.pod_uid)
        return pods


def _before(one: Moment, other: Moment) -> bool:
    """By both clocks: one of them is set by people, the other begins anew with the machine."""
    return one.boot < other.boot and one.wall < other.wall


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
            found = {}
        for uuid in uuids:
            self._there[uuid] = found.get(uuid, ())
