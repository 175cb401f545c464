"""Keeps the memory in its file: written when there is something new, again and again if that fails.

The disk is waited for in a thread: what is noticed meanwhile is judged all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from nodeagent.health.memory import Memory, worth_writing
from nodeagent.health.state import StateFolder

_AGAIN_S = 30.0
_TAKE_OVER_S = 2.0
"""Between looks whether the other agent of this node has gone."""

STATE = "state"
"""The topic of what is wrong with the file at present."""

log = structlog.get_logger()


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
        self._written: Memory | None = None
        self._latest: Memory | None = None
        self._new = asyncio.Event()

    @property
    def taken(self) -> bool:
        """Whether another agent of this node has the folder."""
        return self._folder is not None and self._folder.taken

    def offer(self, memory: Memory) -> None:
        """This is what is known now."""
        if self._folder is not None and worth_writing(self._written, memory):
            self._latest = memory
            self._new.set()

    async def load(self) -> Memory | None:
        """What is in the file, if there is one that can be read."""
        if self._folder is None:
            return None
        loaded = await asyncio.to_thread(self._folder.load)
        if loaded.problem:
            self._tell("memory" if loaded.forgotten else STATE, loaded.problem)
        self._written = loaded.memory
        return loaded.memory

    async def keep(self) -> None:
        """Write whenever there is something new, until cancelled."""
        while self._folder is not None:
            if self._folder.taken:
                await asyncio.sleep(_TAKE_OVER_S)
                await self._take_over(self._folder)
                continue
            await self._new.wait()
            self._new.clear()
            if await self._write():
                continue
            await asyncio.sleep(_AGAIN_S)
            self._new.set()

    async def close(self) -> None:
        """Write what is not written yet, and let another agent have the folder."""
        if self._folder is None:
            return
        if not self._folder.taken:
            await self._write()
        self._folder.close()

    async def _take_over(self, folder: StateFolder) -> None:
        """What the other agent knew is not written over."""
        loaded = await asyncio.to_thread(folder.load)
        if folder.taken:
            return
        self._written = loaded.memory
        if loaded.memory is not None:
            self._adopt(loaded.memory)
        self._tell("memory" if loaded.forgotten else STATE, loaded.problem)
        if loaded.forgotten:
            self._tell(STATE, "")

    async def _write(self) -> bool:
        """Whether what is known is in the file."""
        latest = self._latest
        if self._folder is None or latest is None or not worth_writing(self._written, latest):
            return True
        problem = await asyncio.to_thread(self._folder.save, latest)
        self._tell(STATE, problem)
        if not problem:
            self._written = latest
        return not problem

    def _tell(self, topic: str, problem: str) -> None:
        if not self._troubled(topic, problem):
            return
        if problem:
            log.warning("health.state", problem=problem)
        else:
            log.info("health.state_written")
