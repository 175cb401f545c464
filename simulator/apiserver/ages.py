"""Durations as kubectl's AGE column writes them. Pure."""

from __future__ import annotations

SECOND, MINUTE, HOUR, DAY, YEAR = 1, 60, 3600, 86_400, 365 * 86_400
NAMES = {SECOND: "s", MINUTE: "m", HOUR: "h", DAY: "d", YEAR: "y"}

STEPS = (
    (2 * MINUTE, SECOND, None),
    (10 * MINUTE, MINUTE, SECOND),
    (3 * HOUR, MINUTE, None),
    (8 * HOUR, HOUR, MINUTE),
    (2 * DAY, HOUR, None),
    (8 * DAY, DAY, HOUR),
    (2 * YEAR, DAY, None),
    (8 * YEAR, YEAR, DAY),
    (float("inf"), YEAR, None),
)
"""Below which duration, which unit is written, and which smaller one after it."""


def age(seconds: float) -> str:
    """``95`` -> ``95s``, ``400`` -> ``6m40s``, ``90_000`` -> ``25h``."""
    whole = max(0, int(seconds))
    unit, smaller = next((unit, smaller) for below, unit, smaller in STEPS if whole < below)
    written = f"{whole // unit}{NAMES[unit]}"
    if smaller is None:
        return written
    rest = whole % unit // smaller
    return f"{written}{rest}{NAMES[smaller]}" if rest else written
