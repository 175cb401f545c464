"""How long to wait before trying again. Pure, but for the dice it is given."""

from __future__ import annotations

import random
from collections.abc import Callable


class Backoff:
    """Doubling delays with jitter: each is between half of and the whole of its step.

    Args:
        first_s: The first step, in seconds.
        most_s: The longest step.
        dice: A number from 0 to 1 on each call.
    """

    def __init__(
        self,
        first_s: float = 0.5,
        most_s: float = 15.0,
        dice: Callable[[], float] = random.random,
    ) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._dice = dice
        self._step_s = first_s

    def next_delay_s(self, at_least_s: float = 0.0) -> float:
        """The delay before the next attempt, and a longer step after it.

        ``at_least_s`` is what the server asked for. The jitter then lies above it, so that
        clients that were turned away together do not come back together.
        """
        step = self._step_s
        self._step_s = min(step * 2, self._most_s)
        jittered = step * (1 + self._dice()) / 2
        return jittered if jittered >= at_least_s else at_least_s + self._first_s * self._dice()

    def reset(self) -> None:
        """All is well: begin again with the first step after the next failure."""
        self._step_s = self._first_s
