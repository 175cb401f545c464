"""Paths of the HTTP port that take a body and give one, and are no gRPC method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

Answer: TypeAlias = tuple[int, bytes]
"""HTTP status, and JSON."""


class Post(NamedTuple):
    """What answers a POST to a path, and how many bytes of a body it takes."""

    answer: Callable[[bytes], Awaitable[Answer]]
    max_bytes: int
