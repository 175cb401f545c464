"""The runtime's list of containers, kept for as long as it is known to be right.

A container's id is never given to another and its labels never change, so what was learnt of a
container stays true. What has to be learnt anew is which containers there are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from gpupods.identity import ContainerId
from nodeagent.containers.runtime import (
    ContainerRuntime,
    RuntimeContainer,
    RuntimeUnavailableError,
)

MUCH_LONGER = 2.0
"""How many times the time that a question had in vain is worth another question."""

UNKNOWN_AT_MOST = 4096
"""Ids of containers that the runtime does not have: another runtime's come and go."""

BLIND_TRUST_S = 1.0
"""How long a list counts as complete while the runtime does not tell of changes."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The containers that are known, and why there may be more."""

    containers: Mapping[ContainerId, RuntimeContainer] = field(default_factory=dict)
    problem: str = ""
    """Why the runtime could not be asked; empty if all that was needed is there."""


class KnownContainers:
    """Asks ``runtime`` for its containers no more often than needed.

    Questions that wait at the same time share one call.
    """

    def __init__(
        self, runtime: ContainerRuntime, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._runtime = runtime
        self._clock = clock
        self._lock = asyncio.Lock()
        self._listing = Listing()
        self._generation: int | None = None
        self._asked_at = float("-inf")
        self._had_s = 0.0
        self._unknown: set[ContainerId] = set()

    @property
    def containers(self) -> Mapping[ContainerId, RuntimeContainer]:
        """What was learnt last."""
        return self._listing.containers

    async def including(self, wanted: Collection[ContainerId], timeout_s: float) -> Listing:
        """The known containers, after asking once if any of ``wanted`` is not among them.

        One that the runtime was asked for in vain is asked for again after a change. What is
        in the listing beside ``wanted`` may be out of date.
        """
        listing = await self._listed(lambda: self._all_settled(wanted), timeout_s)
        if not listing.problem:
            self._unknown.update(each for each in wanted if each not in listing.containers)
            if len(self._unknown) > UNKNOWN_AT_MOST:  # most of them have long ended
                self._unknown.intersection_update(wanted)
        return listing

    async def complete(self, timeout_s: float) -> Listing:
        """All containers that there are now. Asks every time: news of one may be under way."""
        return await self._listed(lambda: False, timeout_s)

    def _all_settled(self, wanted: Collection[ContainerId]) -> bool:
        new = [each for each in wanted if each not in self._listing.containers]
        return not new or (self._unknown.issuperset(new) and self._is_current())

    def _is_current(self) -> bool:
        generation = self._runtime.generation()
        if generation is None:
            return self._clock() - self._asked_at < BLIND_TRUST_S and not self._listing.problem
        return generation == self._generation

    async def _listed(self, suffices: Callable[[], bool], timeout_s: float) -> Listing:
        if suffices():
            return Listing(self._listing.containers)
        arrived = self._clock()
        try:
            async with asyncio.timeout(timeout_s):
                await self._lock.acquire()
        except TimeoutError:
            problem = f"the list of containers that others wait for took over {timeout_s:.3g} s"
            return Listing(self._listing.containers, problem)
        try:
            left_s = arrived + timeout_s - self._clock()
            in_vain = self._listing.problem and left_s > MUCH_LONGER * self._had_s
            if self._asked_at < arrived or in_vain:
                await self._ask(max(0.0, left_s))
            return self._listing
        finally:
            self._lock.release()

    async def _ask(self, limit_s: float) -> None:
        # Before the question, so that a change during it is not taken for one that it shows.
        generation, asked_at = self._runtime.generation(), self._clock()
        self._had_s = limit_s
        try:
            containers = await self._runtime.containers(limit_s)
        except RuntimeUnavailableError as error:
            self._listing = Listing(self._listing.containers, str(error))
            self._generation = None
        else:
            self._listing = Listing(containers)
            self._unknown = set() if generation != self._generation else self._unknown
            self._generation = generation
        self._asked_at = asked_at
