"""The annotation that says which GPUs a pod was given, to the letter that Volcano reads."""

from __future__ import annotations

from collections.abc import Iterable

from gpupods.accounting.names import GPU_INDEX

_MOST_DIGITS = 4


def format_index(indexes: Iterable[int]) -> str:
    """Its value: "1", or "0,3" ascending. Volcano parses what is between commas as it stands."""
    return ",".join(map(str, sorted(indexes)))


def parse_index(value: str) -> frozenset[int]:
    """The indexes of an annotation.

    One that is not understood spoils the rest, as it does for Volcano: a pod with half of its
    cards would look as if the others were free.

    Raises:
        ValueError: it is not what a scheduler writes.
    """
    parts = value.split(",")
    for part in parts:
        if not (part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS):
            raise ValueError(f"{GPU_INDEX} is {value!r}: {part!r} is no index of a GPU")
    return frozenset(map(int, parts))
