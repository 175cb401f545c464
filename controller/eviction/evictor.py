"""The loop that empties GPUs: on the leader alone, from the cluster's cache and the agents' word.

Who is evicted is who really runs on the GPU, by its agent's answer of this very moment; where an
agent cannot be asked nobody is evicted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from controller.cache.cluster import ClusterCache
from controller.cache.records import NodeRecord, PodRecord
from controller.eviction import decide
from controller.eviction.decide import EvictionPolicy, FirstSeen, PodOnGpu, UnfitFor
from controller.eviction.edge import Outcome, PodEvictions, Refusal
from controller.eviction.ledger import Ledger, Workload
from controller.gpus.asking import NodeAsker
from controller.gpus.choosing import has_gpus
from gpupods.clock import Clock, SystemClock
from gpupods.identity import PodUid
from gpupods.kube.failures import ApiError

log = structlog.get_logger()

SHORTEST_TURN_S, LONGEST_TURN_S = 1.0, 10.0
"""From one look at the cluster to the next: a tenth of ``--evict-after`` within these bounds."""
ASK_LIMIT_S = 5.0
FRESH_S = 2.0
"""Of an agent's answer: after that it is asked again before anybody else is evicted."""

EVICTED, STAYS, WAITS = "EvictedFromUnfitGpu", "LeftOnUnfitGpu", "EvictionRefused"
"""Reasons of Events on pods."""

MOST_TOLD = 10_000


class Evictor:
    """Evicts, between `start` and `stop`.

    Args:
        policy: What the operator wants.
        cache: The cluster.
        asker: Asks agents.
        evictions: Reads and evicts pods.
        why_not: Why nobody may be evicted at this moment: this replica does not lead, the API
            server is not followed; "" if it may.
        clock: Tells the time.
    """

    def __init__(
        self,
        policy: EvictionPolicy,
        *,
        cache: ClusterCache,
        asker: NodeAsker,
        evictions: PodEvictions,
        why_not: Callable[[], str],
        clock: Clock | None = None,
    ) -> None:
        self._policy = policy
        self._cache = cache
        self._asker = asker
        self._evictions = evictions
        self._why_not = why_not
        self._clock = clock or SystemClock()
        self._ledger = Ledger(policy)
        self._seen: FirstSeen = {}
        self._told: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin; returns at once."""
        log.info(
            "eviction.on",
            after_s=self._policy.after_s,
            excluded=self._policy.excluded,
            per_minute=self._policy.per_minute,
        )
        self._task = asyncio.create_task(self._run(), name="evictor")

    async def stop(self) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        while True:
            try:
                await self.turn()
            except Exception:
                log.exception("eviction.failed")
            await self._clock.sleep(
                min(LONGEST_TURN_S, max(SHORTEST_TURN_S, self._policy.after_s / 10))
            )

    async def turn(self) -> None:
        """Look at the cluster once, and evict whoever's turn it is."""
        if self._why_not():
            self._seen = {}  # who begins to lead begins to count
            return
        nodes = [node for node in self._cache.nodes() if node.gpu_health is not None]
        now_s = self._clock.monotonic()
        self._seen = decide.first_seen(nodes, self._seen, now_s)
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        due = [(node, decide.due(node, self._seen, now, now_s, self._policy)) for node in nodes]
        emptied = sorted(((node, gpus) for node, gpus in due if gpus), key=lambda one: one[0].name)
        if self._halts(len(emptied)):
            return
        for node, gpus in emptied:
            await self._empty(node, gpus)

    def _halts(self, emptied: int) -> bool:
        if emptied < decide.MANY_NODES:
            return False
        with_gpus = sum(has_gpus(self._cache, node) for node in self._cache.nodes())
        halts = decide.too_many(emptied, with_gpus)
        why = f"{emptied} of {with_gpus} nodes with GPUs would be emptied at once" if halts else ""
        if self._is_news("", why) and halts:
            log.error("eviction.halted", why=why)
        return halts

    async def _empty(self, node: NodeRecord, gpus: tuple[UnfitFor, ...]) -> None:
        answered = await self._asker.ask(node, max_age_ms=0, limit_s=ASK_LIMIT_S)
        fresh_until_s = self._clock.monotonic() + FRESH_S
        if answered.response is None:
            if self._is_news(node.name, answered.problem):
                log.warning("eviction.agent_away", node=node.name, problem=answered.problem)
            return
        self._is_news(node.name, "")
        for told in decide.to_leave(gpus, answered.response, self._policy):
            if self._clock.monotonic() > fresh_until_s:
                return  # the rest in the next turn, by another answer
            known = self._cache.pod_by_uid(told.uid)
            if known is None:
                continue  # it has gone, or begun this moment
            pod = replace(told, ref=known.ref)
            if known.node != node.name:
                self._tell_stranger(pod, known.node)
                continue
            try:
                await self._consider(pod, _workload(known), fresh_until_s)
            except ApiError as error:
                log.warning("eviction.failed", pod=str(pod.ref), error=str(error))
                self._ledger.refused(pod.uid, self._clock.monotonic())

    async def _consider(
        self, pod: PodOnGpu, workload: Workload | None, fresh_until_s: float
    ) -> None:
        """Evict the pod, if its turn has come and nothing speaks for leaving it."""
        now_s = self._clock.monotonic()
        if self._ledger.why_wait(pod.uid, workload, now_s, self._is_there):
            return
        left = decide.judge(await self._evictions.read(pod.ref), pod.uid)
        if left is not None:
            if left.why:
                await self._tell(pod, STAYS, f"it is left on {pod.gpu}: {left.why}")
            return
        if self._why_not() or self._clock.monotonic() > fresh_until_s:
            return
        await self._evict(pod, workload)

    async def _evict(self, pod: PodOnGpu, workload: Workload | None) -> None:
        try:
            outcome = await self._evictions.evict(pod.ref, pod.uid)
        except ApiError as error:
            log.warning("eviction.unsure", pod=str(pod.ref), error=str(error))
            self._ledger.unsure(pod.uid, workload, self._clock.monotonic())
            return
        now_s = self._clock.monotonic()
        if isinstance(outcome, Refusal):
            self._ledger.refused(pod.uid, now_s, outcome.retry_after_s)
            await self._tell(pod, WAITS, f"not evicted yet from {pod.gpu}: {outcome.why}")
        elif outcome is Outcome.EVICTED:
            self._ledger.evicted(pod.uid, workload, now_s)
            await self._tell(pod, EVICTED, f"evicted from {pod.gpu}")

    def _tell_stranger(self, pod: PodOnGpu, its_node: str) -> None:
        """An agent may say of its own node alone who is to go."""
        what = f"it is named by the agent of node {pod.gpu.node}, and is on node {its_node!r}"
        if self._is_news(pod.uid, what):
            log.error("eviction.stranger", pod=str(pod.ref), why=what)

    def _is_there(self, uid: PodUid) -> bool:
        return self._cache.pod_by_uid(uid) is not None

    async def _tell(self, pod: PodOnGpu, reason: str, message: str) -> None:
        """In the log and on the pod, once."""
        if not self._is_news(pod.uid, message):
            return
        log.warning("eviction", pod=str(pod.ref), reason=reason, message=message)
        try:
            await self._evictions.tell(pod, reason, message)
        except ApiError as error:
            log.warning("eviction.event_lost", pod=str(pod.ref), error=str(error))

    def _is_news(self, of: str, what: str) -> bool:
        if self._told.get(of, "") == what:
            return False
        self._told.pop(of, None)
        if what:
            self._told[of] = what
        while len(self._told) > MOST_TOLD:
            self._told.pop(next(iter(self._told)))
        return True


def _workload(pod: PodRecord) -> Workload | None:
    """Whose pods are evicted one after another; None: it stands alone."""
    return None if pod.owner is None else (pod.namespace, pod.owner.kind, pod.owner.name)
