"""Keeps the agent's own Node true to what the monitor knows.

Two things are compared, whenever one of them changes: what the Node carries, as a watch of it
tells, and what it should. Where they differ, one patch makes them equal, and is tried again until
it has. What to write is `nodeagent.reporting.report`'s and `nodeagent.reporting.own_node`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import structlog

from gpupods.clock import Clock, SystemClock
from gpupods.kube.api import STRATEGIC_MERGE, Json, KubeApi
from gpupods.kube.backoff import Backoff
from gpupods.kube.failures import ApiError, MalformedError
from gpupods.kube.reflector import Pace, Reflector
from gpupods.node_annotations import UnfitGpu, format_ids, parse_health, parse_ids
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.verdict import Verdict
from nodeagent.pods_on_gpus import PodsOnGpus, Witness
from nodeagent.reporting.node_store import NodeStore
from nodeagent.reporting.own_node import (
    NEEDED,
    OwnNode,
    parts_of,
    patch,
    read_node,
    resource_of,
    status_path,
)
from nodeagent.reporting.report import Report, report_before_judgement, report_of
from nodeagent.reporting.status import ReportStatus
from nodeagent.reporting.teller import EventTeller
from nodeagent.reporting.words import words_of

log = structlog.get_logger()

LAST_WORDS_S = 1.0
"""When it ends, for events of what it has written already: the next agent tells of what is new."""

FOLLOWING = Pace(page_size=1, watch_s=290)
"""A watch of one Node: few things happen in it."""


@dataclass(frozen=True, slots=True)
class ReportPace:
    """Times, in seconds.

    Attributes:
        gather_s: From a change to the patch: what changes meanwhile is in the same one.
        write_limit_s: For one patch.
        first_pause_s: After a patch that failed; doubled after each further one, with jitter.
        longest_pause_s: In the end.
        longest_contest_s: Between two patches that undo what somebody else does again and again.
        steady_s: After so long without that, the next is undone at once.
        follow: How the Node is followed.
    """

    gather_s: float = 0.05
    write_limit_s: float = 10.0
    first_pause_s: float = 0.2
    longest_pause_s: float = 15.0
    longest_contest_s: float = 60.0
    steady_s: float = 300.0
    follow: Pace = FOLLOWING


class Reporter:
    """Reports the GPUs of one node, from `start` to `stop`.

    Args:
        api: The API server; stays the giver's to close.
        node_name: The Node.
        monitor: What is known of its GPUs.
        pods: Where to see which pods are on a GPU, for events on them; None: nowhere. It is the
            giver's to run.
        pace: Times.
        clock: To wait by, and to date the condition.
    """

    def __init__(
        self,
        api: KubeApi,
        node_name: str,
        monitor: HealthMonitor,
        *,
        pods: PodsOnGpus | None = None,
        pace: ReportPace | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._status = ReportStatus()
        self._api = api
        self._node_name = node_name
        self._monitor = monitor
        self._pace = pace or ReportPace()
        self._clock = clock or SystemClock()
        self._node = NodeStore(self._node_changed)
        self._reflector = Reflector(
            api, resource_of(node_name), self._node, self._pace.follow, self._clock
        )
        self._witness = Witness(pods)
        self._teller = EventTeller(api, node_name, self._witness, self._status, self._clock)
        self._told: tuple[UnfitGpu, ...] | None = None
        self._heard: tuple[str, str | None] | None = None
        self._changed = asyncio.Event()
        self._backoff = Backoff(self._pace.first_pause_s, self._pace.longest_pause_s)
        self._contest = Backoff(self._pace.first_pause_s, self._pace.longest_contest_s)
        self._put_right_at = self._clock.monotonic()
        self._carried: tuple[str, Report] | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._unsubscribe: Callable[[], None] = lambda: None

    @property
    def status(self) -> ReportStatus:
        """How it goes now."""
        following = self._reflector.status
        stale = following.stale_since is not None
        self._status.follow_problem = following.last_error if stale else ""
        return self._status

    async def start(self) -> None:
        """Begin; returns at once, whatever the API server does."""
        self._unsubscribe = self._monitor.subscribe(self._verdicts_changed)
        work = [self._reflector.run(), self._keep(), self._teller.run()]
        self._tasks = [asyncio.create_task(each) for each in work]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """End. What the Node carries stays: that an agent ends makes no GPU well."""
        self._unsubscribe()
        await self._teller.told(LAST_WORDS_S)
        tasks = [*self._tasks, *filter(None, [self._waiting])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._witness.stop()
        self._tasks = []

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A bug of ours must not go unnoticed."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._status.write_problem = f"reporting has failed and goes on no more: {error}"
            log.error("report.broken", node=self._node_name, exc_info=error)

    def _verdicts_changed(self, verdicts: tuple[Verdict, ...]) -> None:
        self._witness.changed(verdicts)
        self._changed.set()

    def _node_changed(self) -> None:
        node = self._node.node
        self._status.follows = node is not None
        if node is not None:
            if self._told is None:  # what an earlier agent has told
                self._told, _ = parse_health(node.health)
            self._heed(node)
        self._changed.set()

    def _heed(self, node: OwnNode) -> None:
        """What operators say. A Node that is gone takes none of it back."""
        heard = (node.metadata.uid, node.overrides)
        if heard != self._heard:
            self._heard = heard
            self._monitor.heed(words_of(node.overrides, node.metadata.uid))

    async def _keep(self) -> None:
        """Write whenever there is something to be written, until cancelled."""
        while True:
            await self._changed.wait()
            await self._clock.sleep(self._pace.gather_s)
            self._changed.clear()
            try:
                pause_s = await self._write()
            except Exception as error:  # a bug of ours: what is unfit must be told all the same
                log.exception("report.broken", node=self._node_name)
                self._status.write_problem = f"reporting has failed, and goes on: {error}"
                pause_s = self._backoff.next_delay_s()
            if pause_s:
                await self._clock.sleep(pause_s)
                self._changed.set()

    async def _write(self) -> float:
        """Make the Node carry what it should. The pause before the next attempt; 0: it does."""
        node = self._node.node
        report = self._report(node) if node is not None else None
        if node is None or report is None:
            return 0.0
        body = patch(node, report, self._clock.now())
        if body is None:
            self._is_carried(node, report)
            return 0.0
        if self._carried == (node.metadata.uid, report):
            if not self._may_put_right(node, body):
                return 0.0
        elif self._carried is None:
            self._tell_what_is_replaced(node)
        try:
            written = await self._patch(body)
        except ApiError as error:
            return self._failed(error)
        self._status.written += 1
        self._status.last_written = self._clock.now()
        log.info("report.written", node=self._node_name, unfit=report.ids)
        self._is_carried(node, report)
        self._node.put(written)
        return 0.0

    def _may_put_right(self, node: OwnNode, body: Json) -> bool:
        """Whether it is time to undo what somebody else did to the Node; if not, it will be.

        Who does it again and again is answered ever more seldom: two that take turns for ever
        would be the API server's trouble.
        """
        now = self._clock.monotonic()
        if now < self._put_right_at:
            if self._waiting is None or self._waiting.done():
                self._waiting = asyncio.create_task(self._later(self._put_right_at - now))
            return False
        if now - self._put_right_at > self._pace.steady_s:
            self._contest.reset()
        self._put_right_at = now + self._contest.next_delay_s()
        self._status.put_right += 1
        log.warning(
            "report.put_right", node=self._node_name, found=node.ids, differs=parts_of(body)
        )
        return True

    def _tell_what_is_replaced(self, node: OwnNode) -> None:
        """What another tool wrote before this agent began, where nobody can read it."""
        indexes, wrong = parse_ids(node.ids)
        if node.ids != format_ids(indexes):
            wrong = wrong or "schedulers read digits and commas, ascending, and nothing else"
            log.warning("report.replaces", node=self._node_name, found=node.ids, wrong=wrong)

    async def _later(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s)
        self._changed.set()

    def _report(self, node: OwnNode) -> Report | None:
        """What the Node should carry; None: that is not known, or another agent's to say."""
        self._status.another_agent = self._monitor.another_agent
        if self._monitor.another_agent:
            self._told, _ = parse_health(node.health)  # by that one
            return None
        verdicts = self._monitor.verdicts
        if not self._monitor.judged:
            return report_before_judgement(verdicts, node.ids, node.health)
        return report_of(verdicts)

    async def _patch(self, body: Json) -> OwnNode:
        answer = await self._api.ask(
            "PATCH",
            status_path(self._node_name),
            body,
            limit_s=self._pace.write_limit_s,
            needed=NEEDED,
            media_type=STRATEGIC_MERGE,
        )
        try:
            return read_node(answer)
        except msgspec.ValidationError as error:
            raise MalformedError(f"PATCH {self._node_name}: the answer is no Node") from error

    def _failed(self, error: ApiError) -> float:
        self._status.failed += 1
        message = str(error)
        if message != self._status.write_problem:
            log.warning("report.failed", node=self._node_name, error=message)
        self._status.write_problem = message
        return self._backoff.next_delay_s(error.retry_after_s)

    def _is_carried(self, node: OwnNode, report: Report) -> None:
        """The Node carries ``report``: a patch's answer says so or, if that is lost, the Node."""
        self._backoff.reset()
        self._status.write_problem = ""
        self._teller.tell(self._told or (), report.gpus, node.metadata.uid)
        self._told = report.gpus
        self._carried = (node.metadata.uid, report)
