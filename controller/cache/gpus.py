"""What each node's GPUs can still take, kept up to date pod by pod, so that asking is a look-up.

Beside what the API server tells there are holds: cards that were given to a pod which the cache
does not show on its node yet. A hold ends when it does, when it is released, and, as long as it is
not known whether the pod was bound, with time.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import structlog

from controller.cache.records import NodeRecord, PodRecord
from gpupods.accounting.cards import Capacity, Claim, NodeGpus, account, capacity_of
from gpupods.accounting.indexes import format_index
from gpupods.accounting.request import GpuRequest
from gpupods.identity import NodeName, PodUid
from gpupods.kube.objects import ENDED_PHASES

log = structlog.get_logger()

HOLD_S = 60.0
"""How long a hold lasts: longer than a request can be under way inside the API server."""


NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Hold:
    """Cards of a node that are kept for a pod.

    Attributes:
        pod: Its namespace and name, for messages.
        until: When it ends by itself, on the monotonic clock; `NEVER`: the pod is bound.
    """

    uid: PodUid
    pod: str
    node: NodeName
    request: GpuRequest
    indexes: tuple[int, ...]
    until: float


class GpuIndex:
    """The GPUs of all nodes. Used from one event loop; nothing here waits.

    Args:
        clock: Monotonic, in seconds.
        hold_s: How long a hold lasts.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, hold_s: float = HOLD_S) -> None:
        self.hold_s = hold_s
        self._clock = clock
        self._nodes: dict[NodeName, tuple[Capacity, str | None]] = {}
        self._pods: dict[NodeName, dict[PodUid, PodRecord]] = {}
        self._holds: dict[tuple[PodUid, NodeName], Hold] = {}
        self._ends_first = NEVER
        self._states: dict[str, NodeGpus] = {}
        self._changed: set[NodeName] = set()
        self._news = asyncio.Event()

    def states(self) -> Mapping[str, NodeGpus]:
        """The state of every node, by its name, as of now. It changes with the next call."""
        now = self._clock()
        if now >= self._ends_first:
            self._expire(now)
        for name in self._changed:
            self._judge(name)
        self._changed.clear()
        return self._states

    async def news(self, limit_s: float) -> None:
        """Return as soon as anything may have changed, after ``limit_s`` at the latest."""
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._news.wait()

    def _mark(self, name: NodeName) -> None:
        self._changed.add(name)
        self._news.set()

    # Holds

    def held(self, uid: PodUid, node: NodeName) -> Hold | None:
        """What is kept for the pod on that node."""
        hold = self._holds.get((uid, node))
        return hold if hold is not None and hold.until > self._clock() else None

    def nodes_held_for(self, uid: PodUid) -> frozenset[str]:
        """The nodes on which cards are kept for the pod that it can still be given."""
        now = self._clock()
        holds = (hold for hold in self._holds.values() if hold.uid == uid and hold.until > now)
        return frozenset(hold.node for hold in holds if not self.lost(hold))

    def lost(self, hold: Hold) -> tuple[int, ...]:
        """The cards of a hold that its pod must not be given any more.

        They are unfit by now, or another replica has led meanwhile and knew nothing of the hold.
        """
        node = self._nodes.get(hold.node)
        cards = account(*node, self._claims(hold.node, but=hold)).cards if node is not None else ()
        return tuple(
            index
            for index in hold.indexes
            if index >= len(cards) or not cards[index].takes(hold.request)
        )

    def hold(
        self,
        pod: PodRecord,
        node: NodeName,
        request: GpuRequest,
        indexes: tuple[int, ...],
        under_way_s: float = 0.0,
    ) -> Hold:
        """Keep cards for the pod from now on, instead of what was kept for it on that node.

        ``under_way_s`` is how long it may take until it is known whether it was bound.
        """
        until = self._clock() + under_way_s + self.hold_s
        hold = Hold(pod.uid, str(pod.ref), node, request, indexes, until)
        self._holds[pod.uid, node] = hold
        self._mark(node)
        self._ends_first = min(self._ends_first, until)
        return hold

    def prolong(self, hold: Hold, under_way_s: float = 0.0) -> Hold:
        """What is kept is about to be written once more: it lasts as if it were chosen now."""
        return self._replace(hold, max(hold.until, self._clock() + under_way_s + self.hold_s))

    def doubt(self, hold: Hold) -> None:
        """An attempt to bind the pod has ended, and may yet be carried out."""
        if self._holds.get((hold.uid, hold.node)) is hold:
            until = self._clock() + self.hold_s
            self._replace(hold, until)
            self._ends_first = min(self._ends_first, until)

    def bound(self, hold: Hold) -> None:
        """The API server has bound the pod: only when it is seen, or gone, does the hold end."""
        if self._holds.get((hold.uid, hold.node)) is not None:  # else it was seen already
            self._replace(hold, NEVER)

    def _replace(self, hold: Hold, until: float) -> Hold:
        lasting = replace(hold, until=until)
        self._holds[hold.uid, hold.node] = lasting
        return lasting

    def release(self, hold: Hold) -> None:
        """Keep these cards no longer, unless another attempt has used them since."""
        if self._holds.get((hold.uid, hold.node)) is hold:
            del self._holds[hold.uid, hold.node]
            self._mark(hold.node)

    def _release_all(self, uid: PodUid) -> None:
        for hold in [hold for hold in self._holds.values() if hold.uid == uid]:
            self.release(hold)

    def _expire(self, now: float) -> None:
        for hold in [hold for hold in self._holds.values() if hold.until <= now]:
            log.warning(
                "GPUs that were given to a pod are free again: it was not bound in time",
                pod=hold.pod,
                node=hold.node,
                gpus=format_index(hold.indexes),
            )
            self.release(hold)
        self._ends_first = min((hold.until for hold in self._holds.values()), default=NEVER)

    # For the cache

    def put_node(self, node: NodeRecord) -> None:
        """Take what is known of a node."""
        known = (capacity_of(node.gpu_memory, node.gpu_number), node.unhealthy_ids)
        if self._nodes.get(node.name) != known:
            self._nodes[node.name] = known
            self._mark(node.name)

    def remove_node(self, name: NodeName) -> None:
        """Forget a node."""
        self._nodes.pop(name, None)
        self._mark(name)

    def put_pod(self, pod: PodRecord) -> None:
        """Take what is known of a pod that asks for GPUs."""
        if pod.phase in ENDED_PHASES:
            self.remove_pod(pod)
        elif pod.node:
            on_node = self._pods.setdefault(pod.node, {})
            known = on_node.get(pod.uid)
            on_node[pod.uid] = pod
            if known is None or known.gpus != pod.gpus:
                self._mark(pod.node)
                self._release_all(pod.uid)

    def remove_pod(self, pod: PodRecord) -> None:
        """Forget a pod that asks for GPUs."""
        on_node = self._pods.get(pod.node, {})
        if on_node.pop(pod.uid, None) is not None:
            self._mark(pod.node)
            if not on_node:
                del self._pods[pod.node]
        self._release_all(pod.uid)

    # States

    def _judge(self, name: NodeName) -> None:
        node = self._nodes.get(name)
        if node is None:
            self._states.pop(name, None)
            return
        old = self._states.get(name)
        new = self._states[name] = account(*node, self._claims(name))
        told = old.problems if old is not None else ()
        for problem in new.problems:
            if new.cards and problem not in told:
                log.warning("not understood of a node's GPUs", node=name, problem=problem)

    def _claims(self, name: NodeName, but: Hold | None = None) -> Iterator[Claim]:
        for pod in self._pods.get(name, {}).values():
            if pod.gpus is not None:
                yield Claim(str(pod.ref), pod.gpus.request, pod.gpus.index, pod.gpus.problem)
        for hold in self._holds.values():
            if hold.node == name and hold is not but:
                yield Claim(hold.pod, hold.request, format_index(hold.indexes))
