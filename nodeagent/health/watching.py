"""Keeps a source watching: one that fails is begun again, and is said to until it tells something.

A source never raises for what the other side does, so this is for a bug of ours, or a machine that
is out of something: neither may leave a node's GPUs unwatched until somebody looks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from nodeagent.gpus.retry import BackOff
from nodeagent.health.observations import HealthSource, Tell, Told

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0

log = structlog.get_logger()

Troubled = Callable[[str, str], bool]
"""Takes a topic and what is wrong with it, "" if nothing is; says whether that is news."""


async def keep_watching(source: HealthSource, tell: Tell, troubled: Troubled) -> None:
    """Have ``source`` watch until cancelled."""
    name = type(source).__name__
    back_off = BackOff(FIRST_PAUSE_S, LONGEST_PAUSE_S)

    def hear(told: Told) -> None:
        tell(told)
        troubled(name, "")
        back_off.reset()

    while True:
        failure: Exception | None = None
        try:
            await source.watch(hear)
        except Exception as error:  # noqa: BLE001 - whatever it is, the GPUs must be watched
            failure = error
        why = failure or "it has stopped by itself"
        if troubled(name, f"{name} has failed and is begun again: {why}"):
            log.error("health.source_failed", source=name, exc_info=failure)
        await asyncio.sleep(back_off.pause())
