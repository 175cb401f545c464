"""Sources -> inventory and machines -> verdicts: what is known of this node's GPUs, kept.

Owns the memory, writes it when it changes, and tells subscribers when a verdict does. It decides
nothing: that is `nodeagent.health.machine`'s. Use it in one event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import structlog

from nodeagent.health.condition import GpuState, Now
from nodeagent.health.inventory import Inventory, recognise
from nodeagent.health.keeper import STATE, Keeper
from nodeagent.health.machine import replaced_board, step
from nodeagent.health.memory import Known, LogMark, Memory, merged
from nodeagent.health.observations import (
    CaughtUp,
    DriverRead,
    DriverSilent,
    Excluded,
    HealthSource,
    Presence,
    Reading,
    Restored,
    Seen,
    SourceTrouble,
    TimePassed,
    Told,
    Word,
    XidOfGpu,
)
from nodeagent.health.policy_files import PolicyFiles
from nodeagent.health.problems import Problems
from nodeagent.health.state import StateFolder
from nodeagent.health.verdict import Verdict, judge
from nodeagent.health.verdict_log import log_changes
from nodeagent.health.words import Words

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TICK_S = 5.0
_MOST_OF_UNKNOWN = 200

log = structlog.get_logger()

Subscriber = Callable[[tuple[Verdict, ...]], None]


def node_now() -> Now:
    """This moment on this machine's clocks."""
    boot_id = BOOT_ID.read_text().strip()
    return Now(boot_id, time.clock_gettime(time.CLOCK_BOOTTIME), time.time())


class HealthMonitor:
    """The health of one node's GPUs.

    Args:
        sources: What notices. They are run from `start` to `stop`.
        policy: The table, looked at again from time to time.
        folder: Where the memory outlives the agent; None: nowhere.
        now: The node's clocks.
    """

    def __init__(
        self,
        sources: Iterable[HealthSource] = (),
        policy: PolicyFiles | None = None,
        folder: StateFolder | None = None,
        now: Callable[[], Now] = node_now,
    ) -> None:
        self._sources = list(sources)
        self._policy = policy or PolicyFiles(None)
        self._keeper = Keeper(folder, self._problem, self._adopt)
        self._now = now
        self._memory = Memory()
        self._verdicts: tuple[Verdict, ...] = ()
        self._subscribers: list[Subscriber] = []
        self._problems = Problems()
        self._of_unknown: deque[XidOfGpu] = deque(maxlen=_MOST_OF_UNKNOWN)
        self._tasks: list[asyncio.Task[None]] = []
        self._backlogs: set[str] = set()
        self._behind: set[str] = set()
        self._answered = False
        self._words: Words | None = None
        self.version = 0
        """Grows whenever ``verdicts`` changes."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each GPU that the node is known to have, by index."""
        return self._verdicts

    @property
    def inventory(self) -> Inventory:
        """The node's places for GPUs."""
        return self._memory.inventory

    @property
    def problems(self) -> tuple[str, ...]:
        """Why something may go unseen, or be forgotten; empty: nothing."""
        return self._problems.texts

    @property
    def judged(self) -> bool:
        """Whether the driver has spoken since `start`, and all from before it has been heard.

        Until then a GPU that is not known to be unfit is not known to be fit either.
        """
        return self._answered and not self._behind and bool(self._memory.gpus)

    @property
    def another_agent(self) -> bool:
        """Whether another agent of this node keeps what is known: what this one tells is its."""
        return self._keeper.taken

    @property
    def kernel_log_mark(self) -> LogMark:
        """Up to where the kernel log has been heard."""
        return self._memory.kernel_log

    @property
    def boot_id(self) -> str:
        """Of the boot that the node is in."""
        return self._now().boot_id

    def add_source(self, source: HealthSource, backlog: str = "") -> None:
        """Before `start`: one more that notices.

        ``backlog`` is the name by which it tells `CaughtUp`, where it will.
        """
        self._sources.append(source)
        if backlog:
            self._backlogs.add(backlog)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Have ``subscriber`` called with all verdicts, now and whenever one changes.

        Also when `judged` or `another_agent` do.

        Returns: what ends it.
        """
        self._subscribers.append(subscriber)
        subscriber(self._verdicts)
        return lambda: self._subscribers.remove(subscriber)

    async def start(self) -> None:
        """Remember, then watch."""
        self._answered, self._behind = False, set(self._backlogs)
        self._look_at_policy()
        await self._remember()
        self._tasks = [
            asyncio.create_task(source.watch(self.tell), name=type(source).__name__)
            for source in self._sources
        ]
        for task in self._tasks:
            task.add_done_callback(self._source_ended)
        self._tasks += [asyncio.create_task(self._tick()), asyncio.create_task(self._keeper.keep())]

    async def stop(self) -> None:
        """Stop watching; what is known is in the file."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._tasks = []
        await self._keeper.close()

    def tell(self, told: Told) -> None:
        """What a source has to say."""
        judged, version = self.judged, self.version
        self._hear(told)
        if self.judged != judged and self.version == version:
            self._notify()

    def _hear(self, told: Told) -> None:
        if isinstance(told, DriverRead):
            self._answered = True
            self._read(told)
        elif isinstance(told, DriverSilent):
            self._answered = True
            reading = Reading(told.presence, detail=told.reason)
            self._apply((index, reading) for index in range(len(self._memory.gpus)))
        elif isinstance(told, XidOfGpu):
            self._xid(told)
        elif isinstance(told, CaughtUp):
            self._behind.discard(told.source)
        else:
            self._troubled(told)

    def note_kernel_log(self, sequence: int) -> None:
        """The kernel log has been heard up to there; not past an XID that waits for its GPU."""
        if self._of_unknown:
            return
        self._memory = replace(self._memory, kernel_log=LogMark(self.boot_id, sequence))
        self._keeper.offer(self._memory)

    def exclude(self, index: int, word: Word) -> Verdict:
        """An operator wants nobody to be given the GPU of this index.

        Raises:
            KeyError: there is none such.
        """
        return self._operator(index, Excluded(word))

    def restore(self, index: int, word: Word) -> Verdict:
        """An operator has looked at the GPU of this index, and wants it to be given.

        Raises:
            KeyError: there is none such.
        """
        return self._operator(index, Restored(word))

    def heed(self, words: Words) -> None:
        """These are all of the operators' words on this node's GPUs: make them hold."""
        self._words = words
        self._heed()

    def _heed(self) -> None:
        """Words wait for their GPU, and are not of the board that replaces it."""
        if self._words is None:
            return
        if told := self._words.to_tell(self._memory.gpus, self._now().wall):
            self._apply(told)
        problem = self._words.problem(self._memory.gpus)
        if self._problem("operators' words", problem) and problem:
            log.warning("health.words", problem=problem)

    def _operator(self, index: int, seen: Seen) -> Verdict:
        for place, known in enumerate(self._memory.gpus):
            if known.slot.index == index:
                self._apply([(place, seen)])
                return self._verdicts[place]
        indexes = ", ".join(str(known.slot.index) for known in self._memory.gpus) or "none"
        raise KeyError(f"this node has no GPU of index {index}; those it has: {indexes}")

    def _read(self, told: DriverRead) -> None:
        seen = recognise(self._memory.inventory, told.gpus)
        for before, after in seen.replaced:
            log.info("gpu.in_place", index=after.index, gpu=after.uuid, before=before.uuid or None)
        states = {known.slot.index: known.state for known in self._memory.gpus}
        fresh = {after.index for before, after in seen.replaced if before.uuid}
        gpus = tuple(
            Known(slot, _state(states.get(slot.index), fresh=slot.index in fresh))
            for slot in seen.inventory.slots
        )
        self._memory = replace(self._memory, gpus=gpus)
        readings = {slot.index: listed.reading for slot, listed in seen.present}
        readings |= {slot.index: Reading(Presence.MISSING) for slot in seen.missing}
        self._apply((place, readings[known.slot.index]) for place, known in enumerate(gpus))
        waiting, self._of_unknown = self._of_unknown, deque(maxlen=_MOST_OF_UNKNOWN)
        for xid in waiting:
            self._xid(xid, told_before=True)
        self._heed()

    def _xid(self, told: XidOfGpu, *, told_before: bool = False) -> None:
        """One of a GPU that was never seen waits for it, and makes no other GPU unfit."""
        slot = self.inventory.by_uuid(told.uuid) or self.inventory.by_pci(told.pci_address)
        about = {
            "xid": told.seen.xid,
            "gpu": told.uuid or (slot.uuid if slot else None),
            "pci_address": told.pci_address or (slot.pci_address if slot else None),
            "source": told.seen.source,
            "detail": told.seen.detail or None,
        }
        if slot is None:
            self._of_unknown.append(told)
            if not told_before:
                log.warning("gpu.xid_of_unknown_gpu", **about)
            return
        log.info("gpu.xid", index=slot.index, **about)
        place = [known.slot.index for known in self._memory.gpus].index(slot.index)
        self._apply([(place, told.seen)])

    def _troubled(self, told: SourceTrouble) -> None:
        if self._problem(told.source, told.problem):
            if told.problem:
                log.warning("health.source_troubled", source=told.source, problem=told.problem)
            else:
                log.info("health.source_well", source=told.source)

    def _problem(self, of: str, problem: str) -> bool:
        """Whether that is news."""
        news = self._problems.note(of, problem)
        if news and of == STATE:
            self._notify()  # whether another agent has it
        return news

    def _apply(self, seen: Iterable[tuple[int, Seen]]) -> None:
        """Each GPU (by its place in the memory) has seen something."""
        now, policy = self._now(), self._policy.policy
        gpus = list(self._memory.gpus)
        for place, what in seen:
            known = gpus[place]
            gpus[place] = replace(known, state=step(known.state, what, now, policy))
        self._memory = replace(self._memory, gpus=tuple(gpus))
        self._keeper.offer(self._memory)
        self._judge()

    def _judge(self) -> None:
        policy = self._policy.policy
        verdicts = tuple(judge(known.slot, known.state, policy) for known in self._memory.gpus)
        if verdicts == self._verdicts:
            return
        log_changes(self._verdicts, verdicts)
        self._verdicts = verdicts
        self.version += 1
        self._notify()

    def _notify(self) -> None:
        for subscriber in tuple(self._subscribers):
            subscriber(self._verdicts)

    async def _tick(self) -> None:
        """Time passes, and the operator's policy may change."""
        while True:
            await asyncio.sleep(_TICK_S)
            self._look_at_policy()
            self._apply((place, TimePassed()) for place in range(len(self._memory.gpus)))

    def _look_at_policy(self) -> None:
        if not self._policy.refresh():
            return
        problem = self._policy.problem
        self._problem("policy", problem)
        tell = log.warning if problem else log.info
        tell("health.policy", problem=problem or None)

    async def _remember(self) -> None:
        """What an earlier agent of this node knew."""
        memory = await self._keeper.load()
        if memory is not None:
            self._memory = memory
            self._apply((place, TimePassed()) for place in range(len(memory.gpus)))

    def _adopt(self, kept: Memory) -> None:
        """The other agent of this node has gone: what it knew is this one's now."""
        self._memory = merged(kept, self._memory)
        self._apply((place, TimePassed()) for place in range(len(self._memory.gpus)))
        log.info("health.taken_over")

    def _source_ended(self, task: asyncio.Task[None]) -> None:
        """A source's own bug must not go unnoticed."""
        if task.cancelled():
            return
        error = task.exception()
        log.error("health.source_failed", source=task.get_name(), exc_info=error)
        self._problem(task.get_name(), f"{task.get_name()} has failed and watches no more: {error}")


def _state(state: GpuState | None, *, fresh: bool) -> GpuState:
    if state is None:
        return GpuState()
    return replaced_board(state) if fresh else state
