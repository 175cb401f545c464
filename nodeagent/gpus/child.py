"""The agent's end of one child process that talks to the driver (`nodeagent.gpus.worker`).

Starts it, asks it, kills it. When to do which is `nodeagent.gpus.driver`'s to decide.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping

import msgspec

from gpupods.logs import shorten
from nodeagent.gpus import wire
from nodeagent.gpus.progress import Progress, new_file
from nodeagent.gpus.sample import GpuSample

_DECODER = msgspec.json.Decoder(GpuSample)
_HEARD_AT_ONCE = 65_536
_LAST_WORDS = 4_096
"""Bytes of its stderr that are kept, and hold its last line."""
_SHOWN = 300
"""Characters of that line."""


class ChildDiedError(Exception):
    """The child has ended without an answer; the message says how, as far as it is known."""


class Child:
    """One child process. Ask it one thing at a time."""

    def __init__(self, process: Process, progress: Progress) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("a child is talked to through pipes")
        self._process = process
        self._progress = progress
        self._requests = process.stdin
        self._replies = process.stdout
        self._last_words = b""
        self._listening = asyncio.create_task(self._listen(process.stderr))

    @classmethod
    async def start(cls, environment: Mapping[str, str]) -> Child:
        """Start one, with ``environment`` added to the agent's own.

        Raises:
            OSError: The machine has no room for another process.
        """
        shared = new_file()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "nodeagent.gpus.worker", str(os.getpid()), str(shared)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env={**os.environ, **environment},
                pass_fds=(shared,),
            )
            return cls(process, Progress(shared))
        finally:
            os.close(shared)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it has not been seen to end."""
        return self._process.returncode is None

    @property
    def doing(self) -> str:
        """The call of the driver it has begun last, and of which GPU; empty if none."""
        return self._progress.read()

    async def ask(self, limit_s: float) -> GpuSample:
        """Have it take a sample.

        Raises:
            TimeoutError: No answer within ``limit_s`` seconds. It must not be asked again.
            ChildDiedError: It has ended, or does not speak as it should.
        """
        try:
            async with asyncio.timeout(limit_s):
                self._send(wire.frame(wire.SAMPLE))
                return _DECODER.decode(await self._frame())
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise ChildDiedError(await self._how_it_ended()) from error
        except msgspec.DecodeError as error:
            raise ChildDiedError(f"its answer makes no sense: {error}") from error

    def _send(self, request: bytes) -> None:
        try:
            self._requests.write(request)
        except RuntimeError as error:  # uvloop's word for a pipe that its reader has left
            raise BrokenPipeError(str(error)) from error

    def kill(self) -> None:
        """End it now. One that the kernel holds in a call of the driver ends when that returns."""
        if self.alive:
            self._process.kill()
        self._requests.close()

    async def ended(self) -> None:
        """Wait until it has ended and been reaped."""
        await self._process.wait()
        self._listening.cancel()
        self._progress.close()

    async def _frame(self) -> bytes:
        (length,) = wire.LENGTH.unpack(await self._replies.readexactly(wire.LENGTH.size))
        if length > wire.LONGEST:
            raise ChildDiedError(f"it announces an answer of {length} bytes")
        return await self._replies.readexactly(length)

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        """Read it to its end, not by lines: one may have none, and must not be held up."""
        while said := await stderr.read(_HEARD_AT_ONCE):
            self._last_words = (self._last_words + said)[-_LAST_WORDS:]

    async def _how_it_ended(self) -> str:
        """Its pipe is closed: it is ending, or has ended."""
        try:
            async with asyncio.timeout(1.0):
                code = await self._process.wait()
                # Waited for, not awaited: whoever saw the end first has cancelled it.
                await asyncio.wait({self._listening})
        except TimeoutError:
            return "it has closed its pipe"
        last = self._last_words.decode(errors="replace").strip().rpartition("\n")[2]
        said = f": {shorten(last, _SHOWN)}" if last else ""
        if code < 0:
            return f"ended by {_signal_name(-code)}{said}"
        return f"ended with exit code {code}{said}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have none
        return f"signal {number}"
