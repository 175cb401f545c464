"""When to try again what keeps failing: later each time, and not all nodes at once."""

from __future__ import annotations

import random
from collections.abc import Callable


class BackOff:
    """Pauses in seconds that double from ``first_s`` to ``longest_s``, each shortened by chance.

    ``chance`` gives numbers from 0 to 1; a pause is between half its length and the whole.
    """

    def __init__(
        self,
        first_s: float = 0.5,
        longest_s: float = 30.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._chance = chance
        self._next_s = first_s

    def pause(self) -> float:
        """How long to wait after one more failure."""
        whole = min(self._next_s, self._longest_s)
        self._next_s = min(whole * 2, self._longest_s)
        return whole * (0.5 + 0.5 * self._chance())

    def reset(self) -> None:
        """It has worked."""
        self._next_s = self._first_s
