"""Remembers whose container a process was found in, because finding it is dear.

A process stays in its container, so what was found of (pid, start time, cgroup) stays true; that
it was not to be found out is remembered for a moment only, so that a stuck shim is not waited
for by everybody who asks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from nodeagent.containers.decide import Owner, ProcessKey
from nodeagent.containers.known import MUCH_LONGER, KnownContainers
from nodeagent.containers.runtime import ContainerRuntime
from nodeagent.containers.search import Findings, search
from nodeagent.gpus.sample import Missing, MissingKind

RETRY_S = 1.0
"""How long nobody looks again for a process whose container could not be found out."""

LONGEST_S = 10.0
"""What one search may take, however patient its caller is: others wait for its end."""

KEPT_AT_MOST = 4096
"""Processes, most of them ended by then; more than a node's GPUs ever have at once."""

ALL_AT_ONCE = 16
"""When more containers than these fail, and no other answers, it is the runtime that fails."""

LISTING_SHARE = 0.5
"""Of the time for all, what the runtime's list of containers may take."""


class Owners:
    """Searches for processes in ``runtime``, one search at a time."""

    def __init__(
        self,
        runtime: ContainerRuntime,
        known: KnownContainers,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runtime = runtime
        self._known = known
        self._clock = clock
        self._lock = asyncio.Lock()
        self._kept: dict[ProcessKey, Owner] = {}
        self._retry_at = 0.0
        self._had_s = 0.0

    async def find(
        self, processes: Sequence[ProcessKey], timeout_s: float
    ) -> Mapping[ProcessKey, Owner]:
        """The owner of each of ``processes``, within ``timeout_s``. Raises nothing."""
        if not self._unsure(processes, timeout_s):
            return {each: self._kept[each] for each in processes}
        deadline = self._clock() + timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                await self._lock.acquire()
        except TimeoutError:
            return dict.fromkeys(processes, _not_reached(timeout_s))
        try:
            left_s = deadline - self._clock()
            if unsure := self._unsure(processes, left_s):
                self._had_s = min(left_s, LONGEST_S)
                self._kept |= await self._ask(unsure, self._had_s)
                self._retry_at = self._clock() + RETRY_S
            found = {each: self._kept[each] for each in processes}
            if len(self._kept) > KEPT_AT_MOST:
                self._kept = dict(found)
            return found
        finally:
            self._lock.release()

    def _unsure(self, processes: Sequence[ProcessKey], timeout_s: float) -> list[ProcessKey]:
        """Those to search for now: none, while nothing new is to be expected."""
        unsure = [each for each in processes if each not in self._kept or self._kept[each].missing]
        if any(each not in self._kept for each in unsure) or self._clock() >= self._retry_at:
            return unsure
        return unsure if min(timeout_s, LONGEST_S) > MUCH_LONGER * self._had_s else []

    async def _ask(
        self, processes: Iterable[ProcessKey], timeout_s: float
    ) -> Mapping[ProcessKey, Owner]:
        deadline = self._clock() + timeout_s
        listing = await self._known.complete(timeout_s * LISTING_SHARE)
        if listing.problem:
            problem = Missing(MissingKind.RUNTIME, "", listing.problem)
            return dict.fromkeys(processes, Owner(None, (problem,)))
        # A pause container is hardly ever on a GPU: its turn comes last.
        order = sorted(listing.containers.values(), key=lambda each: each.is_sandbox)
        findings = await search(
            self._runtime,
            [each.id for each in order],
            [process.pid for process in processes],
            deadline - self._clock(),
        )
        missing = missing_from(findings)
        owners = {pid: Owner(container) for pid, container in findings.owners.items()}
        return {process: owners.get(process.pid, Owner(None, missing)) for process in processes}


def missing_from(findings: Findings) -> tuple[Missing, ...]:
    """What a search could not find out. Pure."""
    if len(findings.failed) == findings.asked > ALL_AT_ONCE:
        reason = f"no container's processes could be listed; {next(iter(findings.failed.values()))}"
        return (Missing(MissingKind.RUNTIME, "", reason),)
    missing = [
        Missing(MissingKind.CONTAINER, container, f"{reason}; its processes are not known")
        for container, reason in findings.failed.items()
    ]
    if findings.unasked:
        reason = f"{findings.unasked} containers were not asked for their processes in time"
        missing.append(Missing(MissingKind.CONTAINER, "", reason))
    return tuple(missing)


def _not_reached(timeout_s: float) -> Owner:
    reason = f"the search for other processes was not over within {timeout_s:.3g} s; ask again"
    return Owner(None, (Missing(MissingKind.RUNTIME, "", reason),))
