"""Keeps the memory in its file: written when there is something new, again and again if that fails.

The disk is waited for in a thread: what is noticed meanwhile is judged all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import structlog

from nodeagent.health.memory import Memory, worth_writing
from nodeagent.health.state import StateFolder

_AGAIN_S = 30.0
"""After an attempt that failed."""
_REST_S = 1.0
"""After one that did not: a driver that reports an XID a hundred times costs the disk one write."""
_TAKE_OVER_S = 2.0
"""Between looks whether the other agent of this node has gone."""

STATE = "state"
"""The topic of what is wrong with the file at present."""

log = structlog.get_logger()

T = TypeVar("T")


class Keeper:
    """Of ``folder``; None: nothing is kept.

    Args:
        folder: Where.
        troubled: Called with a topic and what is wrong with it, empty if nothing is; says whether
            that is news.
        adopt: Called with what another agent of this node has kept, when it has gone.
    """

    def __init__(
        self,
        folder: StateFolder | None,
        troubled: Callable[[str, str], bool],
        adopt: Callable[[Memory], None],
    ) -> None:
        self._folder = folder
        self._troubled = troubled
        self._adopt = adopt
        self._ours = False
        """What is in the file is known here, and may be written over."""
        self._written: Memory | None = None
        self._latest: Memory | None = None
        self._new = asyncio.Event()
        self._at_disk: asyncio.Task[object] | None = None

    @property
    def taken(self) -> bool:
        """Whether another agent of this node has the folder."""
        return self._folder is not None and self._folder.taken

    def offer(self, memory: Memory) -> None:
        """This is what is known now."""
        self._latest = memory
        if self._unwritten():
            self._new.set()

    async def load(self) -> Memory | None:
        """What is in the file, if there is one that can be read."""
        if self._folder is None:
            return None
        loaded = await self._in_turn(self._folder.load)
        if loaded.problem:
            self._tell("memory" if loaded.forgotten else STATE, loaded.problem)
        self._written = loaded.memory
        self._ours = not self._folder.taken
        return loaded.memory

    async def keep(self) -> None:
        """Write whenever there is something new, until cancelled."""
        while self._folder is not None:
            if self._folder.taken:
                self._ours = False
                await asyncio.sleep(_TAKE_OVER_S)
                await self._take_over(self._folder)
                continue
            await self._new.wait()
            self._new.clear()
            await asyncio.sleep(_REST_S if await self._write() else _AGAIN_S)
            if self._unwritten():
                self._new.set()

    async def close(self) -> None:
        """Write what is not written yet, and let another agent have the folder."""
        if self._folder is None:
            return
        await self._disk_is_idle()
        if not self._folder.taken:
            await self._write()
        self._folder.close()

    async def _take_over(self, folder: StateFolder) -> None:
        """What the other agent knew is not written over."""
        loaded = await self._in_turn(folder.load)
        if folder.taken:
            return
        self._written = loaded.memory
        if loaded.memory is not None:
            self._adopt(loaded.memory)
        self._ours = True
        self._tell("memory" if loaded.forgotten else STATE, loaded.problem)
        if loaded.forgotten:
            self._tell(STATE, "")

    def _unwritten(self) -> bool:
        return (
            self._folder is not None
            and self._latest is not None
            and worth_writing(self._written, self._latest)
        )

    async def _write(self) -> bool:
        """Whether what is known is in the file."""
        latest = self._latest
        if self._folder is None or latest is None or not (self._ours and self._unwritten()):
            return True
        problem = await self._in_turn(partial(self._saved, self._folder, latest))
        self._tell(STATE, problem)
        if not problem:
            self._written = latest
        return not problem

    @staticmethod
    def _saved(folder: StateFolder, memory: Memory) -> str:
        """Why it could not be; a bug of ours is a reason, too, and no end of the keeping."""
        try:
            return folder.save(memory)
        except Exception as error:
            log.exception("health.state_failed")
            return f"what is known of GPUs' health cannot be kept: {error}"

    async def _in_turn(self, work: Callable[[], T]) -> T:
        """One thing at a time: a thread goes on, and writes, when whoever waits is cancelled."""
        await self._disk_is_idle()
        task = asyncio.create_task(asyncio.to_thread(work))
        self._at_disk = task
        return await asyncio.shield(task)

    async def _disk_is_idle(self) -> None:
        while self._at_disk is not None and not self._at_disk.done():
            await asyncio.wait({self._at_disk})

    def _tell(self, topic: str, problem: str) -> None:
        if not self._troubled(topic, problem):
            return
        if problem:
            log.warning("health.state", problem=problem)
        else:
            log.info("health.state_written")
