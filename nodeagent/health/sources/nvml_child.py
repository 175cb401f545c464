"""The agent's end of one child process that watches the driver: listens to it, and ends it.

What the child does is in `nodeagent.health.sources.nvml_worker`; when one is started, and when
it is given up, is `nodeagent.health.sources.nvml_watch`'s to decide.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from asyncio.subprocess import Process
from dataclasses import dataclass

import msgspec

from nodeagent.gpus import wire
from nodeagent.gpus.progress import Progress
from nodeagent.health.observations import Presence

CLOSING_S = 2.0
_HELD_UP_S = 0.25
"""A wait that ends so much too late tells that this process did not run."""


@dataclass(frozen=True, slots=True)
class Facts:
    """One GPU, as the child tells of it."""

    index: int
    uuid: str
    pci_address: str
    name: str
    presence: Presence
    recovery_action: int | None = None
    remap_failure: bool | None = None
    remap_pending: bool | None = None
    uncorrectable_errors: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What the child tells; one of the first three, or how its events do."""

    gpus: tuple[Facts, ...] | None = None
    xid: int | None = None
    unavailable: str = ""
    not_loaded: bool = False
    uuid: str = ""
    problem: str | None = None


_DECODER = msgspec.json.Decoder(Message)


class Child:
    """One child, and the note of what it is doing."""

    def __init__(self, process: Process, progress: Progress) -> None:
        if process.stdout is None:
            raise ValueError("a child is listened to through a pipe")
        self.process = process
        self.progress = progress
        self._told = process.stdout
        self._next: asyncio.Task[Message] | None = None

    async def message(self, limit_s: float) -> Message:
        """The next thing that it tells.

        Raises:
            TimeoutError: there was none for so long. A time in which this process did not run
                itself, as when it is frozen, does not count: what came meanwhile is heard first.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._read())
        due = asyncio.get_running_loop().time() + limit_s
        await asyncio.wait({self._next}, timeout=limit_s)
        if asyncio.get_running_loop().time() - due > _HELD_UP_S:
            await asyncio.wait({self._next}, timeout=limit_s)
        if not self._next.done():
            raise TimeoutError
        reading, self._next = self._next, None
        return reading.result()

    async def _read(self) -> Message:
        (length,) = wire.LENGTH.unpack(await self._told.readexactly(wire.LENGTH.size))
        if length > wire.LONGEST:
            raise msgspec.DecodeError(f"it announces {length} bytes")
        return _DECODER.decode(await self._told.readexactly(length))

    async def exit_code(self) -> int | None:
        """Of a child that has closed its pipe, and so is about to end; None: it does not."""
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSING_S):
                    return await self.process.wait()
            self.kill()
        return None

    def kill(self) -> None:
        """End it. One that the kernel holds in a call of the driver ends when that returns."""
        if self.process.returncode is None:
            self.process.kill()

    def leave(self) -> None:
        """Listen to it no more, and end it."""
        if self._next is not None:
            self._next.cancel()
        self.kill()

    async def ended(self) -> None:
        """Wait until it has been reaped."""
        await self.process.wait()
        self.progress.close()


def signal_name(number: int) -> str:
    """A real-time signal has a number and no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
