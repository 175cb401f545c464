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

STATE = "state"
"""The topic of what is wrong with the file at present."""

log = structlog.get_logger()


class Keeper:
    """Of ``folder``; None: nothing is kept.

    ``troubled`` is called with a topic and what is wrong with it, empty if nothing is, and says
    whether that is news.
    """

    def __init__(self, folder: StateFolder | None, troubled: Callable[[str, str], bool]) -> None:
        self._folder = folder
        self._troubled = troubled
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
        await self._write()
        self._folder.close()

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
