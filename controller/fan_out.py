"""Asks many at once, though not all: thousands that begin together would be late together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def fan_out(items: Iterable[T], at_once: int, ask: Callable[[T], Awaitable[R]]) -> list[R]:
    """What ``ask`` brings back of each of ``items``, in their order; ``at_once`` of them at most.

    The first failure is the caller's, so let ``ask`` turn what may fail into a result.
    """
    turns = asyncio.Semaphore(at_once)

    async def in_turn(item: T) -> R:
        async with turns:
            return await ask(item)

    return list(await asyncio.gather(*map(in_turn, items)))
