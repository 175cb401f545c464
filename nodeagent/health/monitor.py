"""Sources -> the record -> verdicts: what is known of this node's GPUs, kept and passed on.

Runs the sources, writes what is known when it changes, and tells subscribers when a verdict does.
It decides nothing: whose news it is finds `nodeagent.health.record`, what it means for a GPU
`nodeagent.health.machine`. Use it in one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import structlog

from nodeagent.health.condition import Now
from nodeagent.health.inventory import Inventory
from nodeagent.health.keeper import STATE, Keeper
from nodeagent.health.memory import LogMark, Memory
from nodeagent.health.node_clock import node_now
from nodeagent.health.observations import (
    CaughtUp,
    DriverRead,
    DriverSilent,
    Excluded,
    HealthSource,
    Restored,
    Seen,
    SourceTrouble,
    Told,
    Word,
)
from nodeagent.health.policy_files import PolicyFiles
from nodeagent.health.problems import Problems
from nodeagent.health.record import Record
from nodeagent.health.state import StateFolder
from nodeagent.health.verdict import Verdict
from nodeagent.health.verdict_log import log_changes
from nodeagent.health.watching import keep_watching
from nodeagent.health.words import Words

_TICK_S = 5.0

log = structlog.get_logger()

Subscriber = Callable[[tuple[Verdict, ...]], None]


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
        self._record = Record()
        self._verdicts: tuple[Verdict, ...] = ()
        self._subscribers: list[Subscriber] = []
        self._problems = Problems()
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
        return self._record.memory.inventory

    @property
    def problems(self) -> tuple[str, ...]:
        """Why something may go unseen, or be forgotten; empty: nothing."""
        return self._problems.texts

    @property
    def judged(self) -> bool:
        """Whether the driver has spoken since `start`, and all from before it has been heard.

        Until then a GPU that is not known to be unfit is not known to be fit either.
        """
        return self._answered and not self._behind and bool(self._record.memory.gpus)

    @property
    def another_agent(self) -> bool:
        """Whether another agent of this node keeps what is known: what this one tells is its."""
        return self._keeper.taken

    @property
    def kernel_log_mark(self) -> LogMark:
        """Up to where the kernel log has been heard."""
        return self._record.memory.kernel_log

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
        memory = await self._keeper.load()
        if memory is not None:
            self._record.remember(memory, self._now(), self._policy.policy)
            self._record_changed()
        work = [keep_watching(source, self.tell, self._problem) for source in self._sources]
        self._tasks = [asyncio.create_task(each) for each in work]
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
        now, policy = self._now(), self._policy.policy
        if isinstance(told, SourceTrouble):
            self._troubled(told)
            return
        if isinstance(told, CaughtUp):
            self._behind.discard(told.source)
            return
        if isinstance(told, DriverRead):
            self._answered = True
            self._record.read(told, now, policy)
            self._heed()
        elif isinstance(told, DriverSilent):
            self._answered = True
            self._record.silent(told, now, policy)
        else:
            self._record.xid(told, now, policy)
        self._record_changed()

    def note_kernel_log(self, sequence: int) -> None:
        """The kernel log has been heard up to there."""
        self._record.note_kernel_log(sequence, self._now())
        self._keeper.offer(self._record.memory)

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

    def _operator(self, index: int, seen: Seen) -> Verdict:
        place = self._record.place_of(index)
        self._record.see([(place, seen)], self._now(), self._policy.policy)
        self._record_changed()
        return self._verdicts[place]

    def heed(self, words: Words) -> None:
        """These are all of the operators' words on this node's GPUs: make them hold."""
        self._words = words
        self._heed()
        self._record_changed()

    def _heed(self) -> None:
        """Words wait for their GPU, and are not of the board that replaces it."""
        if self._words is None:
            return
        now = self._now()
        told = self._words.to_tell(self._record.memory.gpus, now.wall)
        self._record.see(told, now, self._policy.policy)
        problem = self._words.problem(self._record.memory.gpus)
        if self._problem("operators' words", problem) and problem:
            log.warning("health.words", problem=problem)

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

    def _record_changed(self) -> None:
        """Have it kept, and tell whoever wants to know what is to be told of it."""
        self._keeper.offer(self._record.memory)
        verdicts = self._record.verdicts(self._policy.policy)
        if verdicts == self._verdicts:
            return
        log_changes(self._verdicts, verdicts)
        self._verdicts = verdicts
        self.version += 1
        self._notify()

    def _notify(self) -> None:
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(self._verdicts)
            except Exception:  # its own bug: neither the source nor other subscribers are the worse
                log.exception("health.subscriber_failed")

    async def _tick(self) -> None:
        """Time passes, and the operator's policy may change."""
        while True:
            await asyncio.sleep(_TICK_S)
            try:
                self._pass_time()
            except Exception:  # a bug of ours: time must not stand still for it
                log.exception("health.tick_failed")

    def _pass_time(self) -> None:
        changed = self._look_at_policy()
        if self._record.pass_time(self._now(), self._policy.policy, everywhere=changed):
            self._record_changed()

    def _look_at_policy(self) -> bool:
        """Whether it has changed."""
        if not self._policy.refresh():
            return False
        problem = self._policy.problem
        self._problem("policy", problem)
        tell = log.warning if problem else log.info
        tell("health.policy", problem=problem or None)
        return True

    def _adopt(self, kept: Memory) -> None:
        """The other agent of this node has gone: what it knew is this one's now."""
        self._record.adopt(kept, self._now(), self._policy.policy)
        self._record_changed()
        log.info("health.taken_over")
