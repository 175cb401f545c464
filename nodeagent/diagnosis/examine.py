"""Looks at everything an agent depends on, all at once, within a time. Raises for none of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpupods.diagnosis import Check
from gpupods.identity import ContainerId, Pid
from nodeagent.containers.runtime import (
    ContainerRuntime,
    NoRuntime,
    RuntimeContainer,
    RuntimeUnavailableError,
)
from nodeagent.diagnosis import judge
from nodeagent.diagnosis.layout import Layout, Version, layout_of, version_of
from nodeagent.diagnosis.pci import GpuBus
from nodeagent.gpus.sharing import SharedSampler
from nodeagent.processes.table import ProcessTable

FIRST_PROCESS = Pid(1)
CONTAINERS_LOOKED_AT = 5
"""For the layout of cgroups, at most: the first one with a process usually suffices."""

LISTING_SHARE = 0.5
"""Of the time for the runtime, what its list of containers may take."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What there is around an agent, beside its GPUs. Stays the giver's to close.

    ``clock`` is the node's wall clock, in seconds since the epoch.
    """

    runtime: ContainerRuntime
    table: ProcessTable
    bus: GpuBus
    clock: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class _Runtime:
    """What the runtime has told."""

    containers: Mapping[ContainerId, RuntimeContainer] | None
    problem: str
    layouts: Sequence[Layout]


async def examine(
    sampler: SharedSampler, surroundings: Surroundings, limit_s: float
) -> tuple[Check, ...]:
    """Every check of a node, within ``limit_s``."""
    sample, runtime = await asyncio.gather(
        sampler.sample(0.0, limit_s), _ask_runtime(surroundings, limit_s)
    )
    on_the_bus = surroundings.bus.nvidia_gpus()
    table = surroundings.table
    listed = judge.listed_pids(sample)
    checks = (
        judge.driver_check(sample, on_the_bus),
        judge.gpus_check(sample, on_the_bus),
        judge.host_pids_check(
            in_host_namespace=table.sees_host_pids(),
            seen=sum(table.read(pid) is not None for pid in listed),
            listed=len(listed),
        ),
        judge.runtime_check(
            _name(surroundings.runtime),
            None if runtime.containers is None else len(runtime.containers),
            runtime.problem,
        ),
        judge.cgroups_check(runtime.layouts, _version(table)),
    )
    return tuple(check for check in checks if check is not None)


def _name(runtime: ContainerRuntime) -> str:
    return "" if isinstance(runtime, NoRuntime) else str(runtime)


def _version(table: ProcessTable) -> Version:
    facts = table.read(FIRST_PROCESS)
    return version_of(facts.cgroup if facts else None)


async def _ask_runtime(surroundings: Surroundings, limit_s: float) -> _Runtime:
    runtime = surroundings.runtime
    try:
        containers = await runtime.containers(limit_s * LISTING_SHARE)
    except RuntimeUnavailableError as error:
        return _Runtime(None, str(error), ())
    of_pods = [each.id for each in containers.values() if each.pod and not each.is_sandbox]
    looked_at = of_pods[:CONTAINERS_LOOKED_AT]
    found = await asyncio.gather(
        *(_layouts(surroundings, each, limit_s * (1 - LISTING_SHARE)) for each in looked_at)
    )
    return _Runtime(containers, "", [layout for layouts in found for layout in layouts])


async def _layouts(
    surroundings: Surroundings, container: ContainerId, limit_s: float
) -> list[Layout]:
    """The layout that the first process of a container shows, if it has any."""
    try:
        pids = await surroundings.runtime.pids(container, limit_s)
    except RuntimeUnavailableError:
        return []  # one stuck container is told by the answers about pods, not here
    facts = [surroundings.table.read(pid) for pid in pids[:1]]
    return [layout_of(each.cgroup) for each in facts if each is not None]
