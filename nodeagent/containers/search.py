"""Finds processes by asking the runtime for the processes of each container.

Costs milliseconds a container, so it is for processes of which nothing cheaper tells. The
runtime is not asked first which containers run: it would wait 2 s for each shim that is stuck
and leave its container out, and one that is paused runs not but holds GPU memory all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpupods.identity import ContainerId, Pid
from nodeagent.containers.runtime import ContainerRuntime, RuntimeUnavailableError

AT_ONCE = 16
"""Containers asked for at the same time."""

SHARE_OF_ONE = 0.25
"""Of the time for all, what one container may take: stuck ones must not use it up."""


@dataclass(slots=True)
class Findings:
    """What a search has found so far."""

    owners: dict[Pid, ContainerId] = field(default_factory=dict)
    """The processes that were looked for and found."""
    failed: dict[ContainerId, str] = field(default_factory=dict)
    """Containers that would not tell, and why."""
    asked: int = 0
    unasked: int = 0
    """For want of time."""

    @property
    def is_whole(self) -> bool:
        """Whether a process that was not found is in none of the containers."""
        return not self.failed and not self.unasked


async def search(
    runtime: ContainerRuntime,
    containers: Iterable[ContainerId],
    wanted: Iterable[Pid],
    timeout_s: float,
) -> Findings:
    """Ask ``containers`` for their processes until each of ``wanted`` is found.

    Returns what was found within ``timeout_s``; raises nothing.
    """
    one_search = _Search(runtime, containers, wanted, timeout_s * SHARE_OF_ONE)
    return await one_search.run(timeout_s)


class _Search:
    def __init__(
        self,
        runtime: ContainerRuntime,
        containers: Iterable[ContainerId],
        wanted: Iterable[Pid],
        each_s: float,
    ) -> None:
        self._runtime = runtime
        self._queue = list(containers)
        self._queue.reverse()
        self._wanted = set(wanted)
        self._each_s = each_s
        self._under_way: set[ContainerId] = set()
        self._findings = Findings()

    async def run(self, timeout_s: float) -> Findings:
        count = min(AT_ONCE, len(self._queue))
        workers = [asyncio.create_task(self._work()) for _ in range(count)]
        try:
            async with asyncio.timeout(timeout_s):
                for worker in asyncio.as_completed(workers):
                    await worker
                    if not self._wanted:
                        break  # the others may be waiting for a shim that is stuck
        except TimeoutError:
            self._findings.unasked = len(self._queue) + len(self._under_way)
        finally:
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return self._findings

    async def _work(self) -> None:
        while self._queue and self._wanted:
            container = self._queue.pop()
            self._under_way.add(container)
            await self._ask(container)
            self._under_way.discard(container)

    async def _ask(self, container: ContainerId) -> None:
        self._findings.asked += 1
        try:
            inside = await self._runtime.pids(container, self._each_s)
        except RuntimeUnavailableError as error:
            self._findings.failed[container] = str(error)
            return
        for pid in self._wanted.intersection(inside):
            self._findings.owners[pid] = container
        self._wanted.difference_update(inside)
