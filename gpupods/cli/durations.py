"""Durations as people write them: 5s, 500ms, 1.5m, or a plain number of seconds."""

from __future__ import annotations

import math
import re

import click

UNITS_S = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
FORM = re.compile(r"(?P<number>\d+(\.\d+)?|\.\d+) ?(?P<unit>ms|s|m|h|d|)", re.ASCII)


def parse_duration(text: str) -> float:
    """``"500ms"`` -> 0.5, in seconds.

    Raises:
        ValueError: the text is no duration; the message says what one looks like.
    """
    match = FORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration: write 5s, 500ms or 1.5m")
    return float(match["number"]) * UNITS_S[match["unit"]]


class Duration(click.ParamType[float]):
    """An option's value as seconds, more than 0 unless ``zero_allowed``, at most ``at_most_s``."""

    name = "duration"

    def __init__(self, *, zero_allowed: bool = False, at_most_s: float = math.inf) -> None:
        self._zero_allowed = zero_allowed
        self._at_most_s = at_most_s

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read ``value``; what is wrong with it becomes the error line."""
        try:
            seconds = parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds == 0 and not self._zero_allowed:
            self.fail("give more than 0 seconds", param, ctx)
        if seconds > self._at_most_s:
            days = math.floor(self._at_most_s / UNITS_S["d"])
            self.fail(f"give at most {days} days", param, ctx)
        return seconds
