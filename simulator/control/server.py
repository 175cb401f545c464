"""The simulation's end: takes injections one after another, and does them in its own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import msgspec

from simulator.control.meeting import MOST_BYTES, About, Reply, Request, socket_path
from simulator.injection import InjectionError, inject
from simulator.model import Cluster

READ_LIMIT_S = 5.0


class ControlServer:
    """Serves ``cluster`` from `start` to `stop`, which leaves nothing behind."""

    def __init__(self, cluster: Cluster, about: About) -> None:
        self._cluster = cluster
        self._about = about
        self._server: asyncio.Server | None = None
        self._path: Path | None = None

    async def start(self) -> Path:
        """Listen, for this user alone.

        Raises:
            OSError: it cannot be listened there.
        """
        path = socket_path(self._about.pid)
        path.unlink(missing_ok=True)  # of a process of this pid that was killed
        self._path = path
        self._server = await asyncio.start_unix_server(self._serve, path, limit=MOST_BYTES)
        path.chmod(0o600)
        return path

    async def stop(self) -> None:
        """Listen no more; the folder goes with the last simulation."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # another simulation's socket is in it
                os.rmdir(self._path.parent)  # noqa: PTH106 - as unlink
            self._path = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(READ_LIMIT_S):
                line = await reader.readline()
                writer.write(msgspec.json.encode(self._answer(line)) + b"\n")
                await writer.drain()
        except (TimeoutError, ConnectionError, ValueError):
            pass  # ValueError: a line without an end
        finally:
            writer.close()

    def _answer(self, line: bytes) -> Reply:
        try:
            request = msgspec.json.decode(line, type=Request)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return Reply(error=f"this simulation does not understand that: {error}")
        if request.inject is None:
            return Reply(about=self._about)
        try:
            done = inject(self._cluster, request.inject)
        except InjectionError as error:
            return Reply(about=self._about, error=str(error))
        return Reply(about=self._about, done=tuple(done))
