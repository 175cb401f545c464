"""Writes events, on the Node and on the pods that were on a GPU, without delaying anything else.

Best effort: an event that the API server does not take after some attempts is given up, and
counted. What is told is the difference between two states of the Node, so that a restart of the
agent repeats nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

import structlog

from gpupods.clock import Clock
from gpupods.kube.api import KubeApi
from gpupods.kube.backoff import Backoff
from gpupods.kube.events import Json
from gpupods.kube.failures import ApiError, RefusedError
from gpupods.kube.paths import events_path
from gpupods.node_annotations import UnfitGpu
from nodeagent.pods_on_gpus import Witness
from nodeagent.reporting.events import changes_between, node_event, pod_event
from nodeagent.reporting.status import ReportStatus

log = structlog.get_logger()

ATTEMPTS = 5
WRITE_LIMIT_S = 10.0
MOST_WAITING = 64
"""Changes of the Node that wait to be told: beyond that the oldest is given up."""

NEEDED = "the agent's role must allow create of events"


@dataclass(frozen=True, slots=True)
class _News:
    """The Node was changed."""

    before: tuple[UnfitGpu, ...]
    after: tuple[UnfitGpu, ...]
    node_uid: str
    at: float


class EventTeller:
    """Tells of one Node's GPUs.

    Args:
        api: The API server.
        node_name: The Node.
        witness: Which pods were on a GPU.
        status: Where it is counted.
        clock: To date events, and to wait by.
    """

    def __init__(
        self, api: KubeApi, node_name: str, witness: Witness, status: ReportStatus, clock: Clock
    ) -> None:
        self._api = api
        self._node_name = node_name
        self._witness = witness
        self._status = status
        self._clock = clock
        self._waiting: asyncio.Queue[_News] = asyncio.Queue(MOST_WAITING)

    def tell(self, before: Sequence[UnfitGpu], after: Sequence[UnfitGpu], node_uid: str) -> None:
        """The Node has just been changed from ``before`` to ``after``. Never waits."""
        if not changes_between(before, after):
            return
        if self._waiting.full():
            self._waiting.get_nowait()
            self._waiting.task_done()
            self._status.events_lost += 1
        self._waiting.put_nowait(_News(tuple(before), tuple(after), node_uid, self._clock.now()))

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            news = await self._waiting.get()
            try:
                for event in await self._events(news):
                    await self._write(event)
            except Exception:  # a bug of ours: what comes next is told all the same
                log.exception("report.events_broken", node=self._node_name)
                self._status.events_lost += 1
            finally:
                self._waiting.task_done()

    async def told(self, limit_s: float) -> None:
        """Return when all of it is told, or the time is over: nobody tells it later."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._waiting.join()

    async def _events(self, news: _News) -> list[Json]:
        events: list[Json] = []
        for change in changes_between(news.before, news.after):
            events.append(node_event(change, self._node_name, news.node_uid, news.at))
            pods = await self._witness.pods_on(change.gpu.uuid)
            events += [pod_event(change, pod, self._node_name, news.at) for pod in pods]
        return events

    async def _write(self, event: Json) -> None:
        """Try to have one event written; it keeps its name, so that it is there once."""
        path = events_path(event["metadata"]["namespace"])
        backoff = Backoff()
        for attempt in range(ATTEMPTS):
            try:
                await self._api.ask("POST", path, event, limit_s=WRITE_LIMIT_S, needed=NEEDED)
            except ApiError as error:
                if isinstance(error, RefusedError) and error.status == HTTPStatus.CONFLICT:
                    break  # an earlier attempt has arrived
                final = isinstance(error, RefusedError) and error.is_final
                if final or attempt == ATTEMPTS - 1:
                    self._lost(event, error)
                    return
                await self._clock.sleep(backoff.next_delay_s(error.retry_after_s))
            else:
                break
        self._status.events_written += 1

    def _lost(self, event: Json, error: ApiError) -> None:
        self._status.events_lost += 1
        about = event["involvedObject"]
        log.warning(
            "report.event_lost",
            about=f"{about['kind']} {about['name']}",
            message=event["message"],
            error=str(error),
        )
