"""Decides whose container a process is in, from facts that have been gathered. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.cgroup import NOT_FOR_KUBERNETES, Candidate, CgroupReading
from nodeagent.containers.identity import Identification, IdentifiedProcess, Unattributed
from nodeagent.containers.runtime import RuntimeContainer
from nodeagent.gpus.sample import Missing, MissingKind, Moment
from nodeagent.processes.table import ProcessFacts

TICK_S = 0.01
"""What start times are rounded to: the kernel's clock tick."""


class ProcessKey(NamedTuple):
    """Names a process for as long as it stays in its cgroup."""

    pid: Pid
    start_boot_s: float
    cgroup: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is at hand of one living process."""

    facts: ProcessFacts
    reading: CgroupReading

    @property
    def key(self) -> ProcessKey:
        """The process's name in what is remembered."""
        return ProcessKey(self.facts.pid, self.facts.start_boot_s, self.reading.path)


@dataclass(frozen=True, slots=True)
class Owner:
    """The container of a process by the runtime's word."""

    container: ContainerId | None
    """None: it is in no container, or, if something is missing, nobody knows."""
    missing: tuple[Missing, ...] = ()


def ended(pid: Pid, facts: ProcessFacts | None, sampled: Moment) -> IdentifiedProcess | None:
    """What to say of ``pid`` if the process seen at ``sampled`` is no more; None if it lives."""
    if facts is None:
        detail = "the driver lists it, the kernel does not"
        return IdentifiedProcess(pid, "", None, None, Unattributed.PROCESS_EXITED, detail)
    if facts.start_boot_s > sampled.boot + TICK_S:
        later_s = facts.start_boot_s - sampled.boot
        detail = f"it is {facts.name!r} by now, started {later_s:.2f} s after the sample"
        return IdentifiedProcess(pid, "", None, None, Unattributed.PID_REUSED, detail)
    return None


def by_cgroup(
    evidence: Evidence, known: Mapping[ContainerId, RuntimeContainer], *, whole: bool
) -> IdentifiedProcess | None:
    """Decide by the cgroup; None if it does not tell.

    ``whole``: what is not in ``known`` is not one of the runtime's containers.
    """
    reading = evidence.reading
    for candidate in reading.candidates:
        if candidate.id in known:
            return _in_container(evidence, candidate.id)
    if (likeliest := reading.likeliest) is not None:
        if whole or _of_no_pod(likeliest):
            return _other_runtime(evidence, likeliest)
        return _in_container(evidence, likeliest.id)
    if reading.is_host:
        return _without(evidence, Unattributed.HOST_PROCESS, where(evidence))
    return None


def by_search(evidence: Evidence, owner: Owner) -> IdentifiedProcess:
    """Decide by the runtime's word."""
    if owner.container is not None:
        return _in_container(evidence, owner.container)
    if owner.missing:
        return undetermined(evidence, owner.missing[0].reason)
    if (likeliest := evidence.reading.likeliest) is not None:
        return _other_runtime(evidence, likeliest)
    detail = f"{where(evidence)}; in none of the runtime's containers"
    return _without(evidence, Unattributed.HOST_PROCESS, detail)


def undetermined(evidence: Evidence, why: str) -> IdentifiedProcess:
    """Neither a container nor its absence could be found out."""
    return _without(evidence, Unattributed.UNDETERMINED, f"{where(evidence)}; {why}")


def hidden(pids: Collection[Pid]) -> Identification:
    """What to say when none of ``pids`` is to be seen, nor the node's other processes."""
    detail = "the agent does not see the node's processes"
    reason = (
        f"none of the {len(pids)} pids that the driver lists exists where the agent runs; "
        "let it see the node's processes: hostPID: true"
    )
    return Identification(
        {
            pid: IdentifiedProcess(pid, "", None, None, Unattributed.UNDETERMINED, detail)
            for pid in pids
        },
        {},
        (Missing(MissingKind.PROCESS, "", reason),),
    )


def where(evidence: Evidence) -> str:
    """The cgroup, for a person."""
    path = evidence.reading.path
    return f"cgroup {path}" if path else "its cgroup cannot be read"


def _of_no_pod(candidate: Candidate) -> bool:
    return candidate.runtime in NOT_FOR_KUBERNETES and not candidate.pod_uid


def _in_container(evidence: Evidence, container: ContainerId) -> IdentifiedProcess:
    facts = evidence.facts
    return IdentifiedProcess(facts.pid, facts.name, facts.start_boot_s, container)


def _other_runtime(evidence: Evidence, candidate: Candidate) -> IdentifiedProcess:
    of = f" of {candidate.runtime}" if candidate.runtime else ""
    detail = f"container {candidate.id[:12]}{of}; {where(evidence)}"
    return _without(evidence, Unattributed.OTHER_RUNTIME, detail)


def _without(evidence: Evidence, reason: Unattributed, detail: str) -> IdentifiedProcess:
    facts = evidence.facts
    return IdentifiedProcess(facts.pid, facts.name, facts.start_boot_s, None, reason, detail)
