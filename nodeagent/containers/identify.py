"""Finds the containers of processes: gathers what `nodeagent.containers.decide` decides on.

The cgroup is read first, because it costs microseconds; what it names is checked against the
runtime's own list. Only processes whose cgroup tells nothing are looked for in the runtime.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Iterable, Sequence

from gpupods.identity import Pid
from nodeagent.containers.cgroup import read_cgroup
from nodeagent.containers.decide import (
    Evidence,
    by_cgroup,
    by_search,
    ended,
    hidden,
    undetermined,
    where,
)
from nodeagent.containers.identity import Identification, IdentifiedProcess
from nodeagent.containers.known import KnownContainers, Listing
from nodeagent.containers.owners import Owners
from nodeagent.containers.runtime import ContainerRuntime, NoRuntime
from nodeagent.gpus.sample import Missing, MissingKind, Moment
from nodeagent.processes.table import ProcessTable

LISTING_SHARE = 0.5
"""Of the time for all, what the runtime's list may take."""

UNASKED = "this does not tell the container, and no runtime is asked for its processes"

NOT_THE_KUBELETS = (
    "there are processes in pods, but this runtime has no containers at all, so cgroups were "
    "believed; is the kubelet's another one? --runtime-socket names it, '' asks none"
)


class IdentifyMode(enum.Enum):
    """How to find a process's container."""

    AUTO = "auto"
    """By its cgroup; by the runtime where that does not decide."""
    CGROUP = "cgroup"
    """By its cgroup alone; the runtime only tells what is known of the container."""
    RUNTIME = "runtime"
    """By the runtime's lists of processes alone."""


class ProcessIdentifier:
    """Knows processes from ``table`` and containers from ``runtime``.

    Raises:
        ValueError: the mode needs a runtime, and there is none.
    """

    def __init__(
        self, table: ProcessTable, runtime: ContainerRuntime, mode: IdentifyMode = IdentifyMode.AUTO
    ) -> None:
        if isinstance(runtime, NoRuntime):
            if mode is IdentifyMode.RUNTIME:
                raise ValueError("--identify=runtime needs a runtime to ask: set --runtime-socket")
            mode = IdentifyMode.CGROUP
        self._table = table
        self._mode = mode
        self._known = KnownContainers(runtime)
        self._owners = Owners(runtime, self._known)

    async def identify(
        self, pids: Iterable[Pid], sampled: Moment, timeout_s: float
    ) -> Identification:
        """Find the container of each of ``pids``, which were seen alive at ``sampled``.

        Never raises for what the node does: what fails is in ``missing``.
        """
        deadline = time.monotonic() + timeout_s
        facts = {pid: self._table.read(pid) for pid in pids}
        if facts and not any(facts.values()) and not self._table.sees_host_pids():
            return hidden(facts)
        gone = {pid: end for pid, each in facts.items() if (end := ended(pid, each, sampled))}
        alive = [
            Evidence(each, read_cgroup(each.cgroup))
            for pid, each in facts.items()
            if each is not None and pid not in gone
        ]
        listing = await self._list(alive, timeout_s * LISTING_SHARE)
        told, silent = self._by_cgroup(alive, listing)
        found, unfound = await self._by_search(silent, deadline - time.monotonic())
        return Identification(
            processes={each.pid: each for each in (*gone.values(), *told, *found)},
            containers=self._known.containers,
            missing=tuple(dict.fromkeys((*self._of_runtime(alive, listing), *unfound))),
        )

    async def _list(self, alive: Sequence[Evidence], timeout_s: float) -> Listing:
        """What the runtime knows of the containers that cgroups name."""
        if self._mode is IdentifyMode.RUNTIME:
            return Listing()
        named = {candidate.id for each in alive for candidate in each.reading.candidates}
        return await self._known.including(named, timeout_s)

    def _by_cgroup(
        self, alive: Sequence[Evidence], listing: Listing
    ) -> tuple[list[IdentifiedProcess], list[Evidence]]:
        """The processes whose cgroup tells, and those of which something else has to."""
        if self._mode is IdentifyMode.RUNTIME:
            return [], list(alive)
        known = listing.containers if self._mode is IdentifyMode.AUTO else {}
        whole = bool(known) and not listing.problem
        decided = [(each, by_cgroup(each, known, whole=whole)) for each in alive]
        told = [identified for _, identified in decided if identified is not None]
        return told, [each for each, identified in decided if identified is None]

    async def _by_search(
        self, silent: Sequence[Evidence], timeout_s: float
    ) -> tuple[list[IdentifiedProcess], list[Missing]]:
        """The processes whose cgroup does not tell, and what of them cannot be found out."""
        if not silent:
            return [], []
        if self._mode is IdentifyMode.CGROUP:
            return [undetermined(each, UNASKED) for each in silent], [
                Missing(MissingKind.PROCESS, str(each.facts.pid), f"{where(each)}: {UNASKED}")
                for each in silent
            ]
        owners = await self._owners.find([each.key for each in silent], timeout_s)
        found = [by_search(each, owners[each.key]) for each in silent]
        return found, [missing for owner in owners.values() for missing in owner.missing]

    def _of_runtime(self, alive: Sequence[Evidence], listing: Listing) -> list[Missing]:
        """What is missing because the runtime, or this runtime, does not tell."""
        if listing.problem:
            return [Missing(MissingKind.RUNTIME, "", listing.problem)]
        in_pods = any(each.reading.pod_uid for each in alive)
        if self._mode is IdentifyMode.AUTO and in_pods and not listing.containers:
            return [Missing(MissingKind.RUNTIME, "", NOT_THE_KUBELETS)]
        return []
