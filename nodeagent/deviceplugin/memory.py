"""How much memory each GPU has, remembered: a GPU that is lost does not tell any more.

The file is written when something new is learnt, and not otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
import structlog

from gpupods.identity import GpuUuid
from nodeagent.gpus.sample import GpuSample

FILE = "gpu-memory.json"
MIB = 1024 * 1024

Mib = Annotated[int, msgspec.Meta(gt=0, lt=2**32)]
"""More than any GPU has; what is above it is no file of ours."""

log = structlog.get_logger()


class GpuMemory:
    """MiB by UUID. Use it in one event loop.

    Args:
        folder: Where it outlives the agent; None: nowhere.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / FILE
        self._known: dict[GpuUuid, int] = {}

    @property
    def known(self) -> Mapping[GpuUuid, int]:
        """What was last learnt of each GPU, lost ones among them."""
        return self._known

    async def load(self) -> None:
        """Remember what an earlier agent has learnt."""
        if self._file is not None:
            self._known = await asyncio.to_thread(_read, self._file) | self._known

    async def learn(self, sample: GpuSample) -> None:
        """Take in what the driver says now."""
        told = {
            gpu.uuid: gpu.memory_total_bytes // MIB for gpu in sample.gpus if gpu.memory_total_bytes
        }
        if told.items() <= self._known.items():
            return
        self._known |= told
        if self._file is not None:
            await asyncio.to_thread(_write, self._file, self._known)


def _read(file: Path) -> dict[GpuUuid, int]:
    """Without the file, or with one that makes no sense, the GPUs are asked again."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[GpuUuid, Mib])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        log.warning("device_plugin.memory_forgotten", file=str(file), error=str(error))
        return {}


def _write(file: Path, known: Mapping[GpuUuid, int]) -> None:
    draft = file.with_suffix(".new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(msgspec.json.encode(known))
        draft.rename(file)
    except OSError as error:
        log.warning("device_plugin.memory_not_kept", file=str(file), error=str(error))
