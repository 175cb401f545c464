"""Takes part in an election for as long as it runs: asks the server what the rules say to ask.

The rules are `controller.leader.election`'s, the requests `controller.leader.api`'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from controller.leader.api import ClaimRefusedError
from controller.leader.election import Election
from controller.leader.lease import NOBODY, Claim, Lease
from gpupods.clock import Clock, SystemClock
from gpupods.kube.failures import ApiError

log = structlog.get_logger()

REQUEST_LIMIT_S = 1.0
"""Of one request. Time enough for a server that works, and for a second attempt if it hangs."""


class LeaseStore(Protocol):
    """Where the lease is kept: `controller.leader.api.LeaseApi`."""

    async def read(self, limit_s: float) -> Lease | None:
        """The lease as it is now."""

    async def write(self, claim: Claim, limit_s: float) -> Lease:
        """Make or replace it."""


class Elector:
    """One replica as a candidate.

    Args:
        store: The lease.
        election: What this candidate knows of it.
        changed: Called when it has begun or ceased to lead. Must not block.
    """

    def __init__(
        self,
        store: LeaseStore,
        election: Election,
        changed: Callable[[], None],
        clock: Clock | None = None,
    ) -> None:
        self._store = store
        self._election = election
        self._changed = changed
        self._clock = clock or SystemClock()
        self._task: asyncio.Task[None] | None = None
        self._led = False
        self._trouble = "the lease has not been read yet"

    def leads(self) -> bool:
        """Whether this replica leads at this very moment."""
        return self._election.leads(self._clock.monotonic())

    def another_leads(self) -> bool:
        """Whether another held the lease when it was last looked at, and that was just now."""
        return not self._trouble and bool(self._other())

    def leader(self) -> str:
        """The pod of the one that leads, "" if it is this one or is not known just now."""
        return "" if self._trouble else self._other()

    def _other(self) -> str:
        holder = self._election.holder()
        return NOBODY if holder == self._election.identity else name_of(holder)

    def standing(self) -> str:
        """Who leads, and what hinders this replica, for people to read."""
        if self.leads():
            return "this replica leads"
        who = f"{self._other()} leads" if self._other() else "nobody is known to lead"
        hindrance = f" ({self._trouble})" if self._trouble else ""
        return f"this replica is a standby: {who} by the lease {self._store}{hindrance}"

    async def start(self) -> None:
        """Begin; returns at once."""
        self._task = asyncio.create_task(self._run(), name="elector")

    async def stop(self) -> None:
        """Cease to lead, and give the lease back, so that another need not wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        claim = self._election.resign()
        self._tell()
        if claim is None:
            return
        try:
            async with asyncio.timeout(REQUEST_LIMIT_S):
                await self._store.write(claim, REQUEST_LIMIT_S)
        except (ApiError, ClaimRefusedError, TimeoutError) as error:
            log.warning("the lease was not given back: others wait for its end", error=str(error))

    async def _run(self) -> None:
        while True:
            asked_to_wait_s = await self._attempt()
            self._tell()
            await self._clock.sleep(self._pause_s(asked_to_wait_s))

    def _pause_s(self, at_least_s: float) -> float:
        """Until the next attempt, or until this replica leads no more, which is to be told."""
        now = self._clock.monotonic()
        pause_s = max(self._election.pause_s(now), at_least_s)
        if self._election.leads(now):
            pause_s = min(pause_s, self._election.leads_until() - now)
        return pause_s

    async def _attempt(self) -> float:
        """Read and claim as need be; return for how long the server asked to be left alone."""
        try:
            async with asyncio.timeout(self._limit_s()):
                await self._look_and_claim()
            self._note("")
        except TimeoutError:
            self._election.doubt()
            self._note("the API server does not answer in time")
        except ApiError as error:
            self._election.doubt()
            self._note(str(error))
            return error.retry_after_s
        except Exception as error:
            self._election.doubt()
            log.exception("an attempt to lead failed in a way that nobody foresaw")
            self._note(f"{type(error).__name__}: {error}")
        return 0.0

    async def _look_and_claim(self) -> None:
        election, clock = self._election, self._clock
        if election.must_look():
            election.saw(await self._store.read(REQUEST_LIMIT_S), clock.monotonic())
        asked = clock.monotonic()
        claim = election.claim(asked)
        if claim is None:
            return
        try:
            election.wrote(await self._store.write(claim, REQUEST_LIMIT_S), asked)
        except ClaimRefusedError:
            # Somebody has written it since: whoever that was may lead from now on.
            election.doubt()
            election.saw(await self._store.read(REQUEST_LIMIT_S), clock.monotonic())

    def _limit_s(self) -> float:
        """A leader learns in time that it leads no more."""
        now = self._clock.monotonic()
        if not self._election.leads(now):
            return 2 * REQUEST_LIMIT_S
        return min(REQUEST_LIMIT_S, self._election.leads_until() - now)

    def _tell(self) -> None:
        """Have it known if this replica has begun or ceased to lead."""
        leads = self.leads()
        if leads == self._led:
            return
        self._led = leads
        log.info("leads" if leads else "leads no more", standing=self.standing())
        self._changed()

    def _note(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            log.warning("cannot take part in the election", error=trouble)
        self._trouble = trouble


def name_of(identity: str) -> str:
    """The pod in an identity as `identity_of` makes it; others as they are."""
    return identity.partition("_")[0]


def identity_of(host: str, unique: str) -> str:
    """Of this process and no other: a restarted one must not take itself for its predecessor."""
    return f"{host}_{unique}"
