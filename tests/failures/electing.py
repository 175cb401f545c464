"""Candidates for one lease, each a real elector, in time that passes when a test says so."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from controller.leader.election import Election, Terms
from controller.leader.elector import Elector
from controller.leader.lease import Claim, Lease
from gpupods.kube.failures import ApiError
from tests.unit.controller.leader.lease_server import LeaseServer

TURNS = 20
"""Of the event loop: more than an elector needs from the end of a pause to the next."""


class VirtualTime:
    """One clock for all. Whoever waits is woken in order while the time is moved on."""

    def __init__(self) -> None:
        self._now = 0.0
        self._numbers = itertools.count()
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self._now + seconds, next(self._numbers), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Let so much time pass, and everything happen that is due meanwhile."""
        end = self._now + seconds
        await self.settle()
        while self._waiting and self._waiting[0][0] <= end:
            self._now, _, woken = heapq.heappop(self._waiting)
            if not woken.done():
                woken.set_result(None)
            await self.settle()
        self._now = end

    async def settle(self) -> None:
        for _ in range(TURNS):
            await asyncio.sleep(0)


class SharedLease:
    """The lease as one candidate reaches it; ``fails`` is raised instead, if it is set."""

    def __init__(self, server: LeaseServer) -> None:
        self._server = server
        self.fails: ApiError | None = None

    def __str__(self) -> str:
        return "gpupods-system/gpupods-controller"

    async def read(self, limit_s: float) -> Lease | None:
        self._fail()
        return self._server.lease

    async def write(self, claim: Claim, limit_s: float) -> Lease:
        self._fail()
        return self._server.write(claim)

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails


class Candidate:
    """One replica. ``changes`` is what it was told to tell: True when it began to lead."""

    def __init__(
        self, name: str, server: LeaseServer, time: VirtualTime, terms: Terms, process: int = 1
    ) -> None:
        self.identity = f"{name}_{process}"
        self.lease = SharedLease(server)
        self.changes: list[bool] = []
        election = Election(self.identity, terms)
        self.elector = Elector(self.lease, election, self._changed, time)

    def leads(self) -> bool:
        return self.elector.leads()

    async def crash(self) -> None:
        """End as a killed process does: nothing is given back, nobody is told."""
        assert self.elector._task is not None
        self.elector._task.cancel()
        await asyncio.gather(self.elector._task, return_exceptions=True)

    def _changed(self) -> None:
        self.changes.append(self.leads())


class Election3:
    """Three candidates, of which the first one to start leads."""

    def __init__(self, terms: Terms) -> None:
        self.time = VirtualTime()
        self.server = LeaseServer()
        self.first, self.second, self.third = (
            Candidate(name, self.server, self.time, terms) for name in ("pod-a", "pod-b", "pod-c")
        )
        self.all = (self.first, self.second, self.third)

    def leaders(self) -> list[str]:
        return [each.identity for each in self.all if each.leads()]

    async def until_led_by_another(self, than: Candidate) -> float:
        """Let time pass until another one leads; returns how much of it has."""
        began = self.time.now()
        while not [each for each in self.all if each.leads() and each is not than]:
            await self.time.advance(0.05)
            assert len(self.leaders()) <= 1
            assert self.time.now() - began < 60, "nobody takes over"
        return self.time.now() - began


@asynccontextmanager
async def electing(terms: Terms = Terms(3)) -> AsyncIterator[Election3]:  # noqa: B008 - frozen
    """Three candidates at work; the first leads."""
    election = Election3(terms)
    for each in election.all:
        await each.elector.start()
        await election.time.settle()
    assert election.leaders() == [election.first.identity]
    try:
        yield election
    finally:
        for each in election.all:
            each.lease.fails = None
            await each.elector.stop()
