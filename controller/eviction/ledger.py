"""The pace of evictions: how many in a minute, one of a workload at a time. Pure, but for memory.

It is told the time, in seconds of a clock of which only differences count.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from controller.eviction.decide import EvictionPolicy
from gpupods.identity import PodUid

MINUTE_S = 60.0
FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 15.0, 600.0
"""After an eviction that was refused; doubled with each further refusal of that pod."""

MOST_REMEMBERED = 10_000

Workload = tuple[str, str, str]
"""Namespace, kind and name of a pod's controller."""


@dataclass(slots=True)
class _Refused:
    times: int
    until_s: float


@dataclass(frozen=True, slots=True)
class _Last:
    """The pod of a workload that was evicted last, or perhaps was.

    Attributes:
        waits_until_s: For how long others wait for its end, where it has not come.
    """

    at_s: float
    uid: PodUid
    waits_until_s: float = math.inf

    def holds_up(
        self, uid: PodUid, now_s: float, pause_s: float, is_there: Callable[[PodUid], bool]
    ) -> bool:
        if now_s - self.at_s < pause_s:
            return True
        if now_s >= self.waits_until_s or not is_there(self.uid):
            return False
        return uid != self.uid or self.waits_until_s == math.inf


@dataclass(slots=True)
class Ledger:
    """What has been evicted and refused so far."""

    policy: EvictionPolicy
    _times: deque[float] = field(default_factory=deque)
    _last_of: dict[Workload, _Last] = field(default_factory=dict)
    _refused: dict[PodUid, _Refused] = field(default_factory=dict)

    def why_wait(
        self,
        uid: PodUid,
        workload: Workload | None,
        now_s: float,
        is_there: Callable[[PodUid], bool],
    ) -> str:
        """Why the pod's turn has not come; "" if it has.

        ``is_there`` is whether a pod still exists: one of the same workload that was evicted, and
        has not ended yet, is waited for.
        """
        while self._times and now_s - self._times[0] >= MINUTE_S:
            self._times.popleft()
        if len(self._times) >= self.policy.per_minute:
            return f"{self.policy.per_minute} pods were evicted in the last minute"
        refused = self._refused.get(uid)
        if refused is not None and now_s < refused.until_s:
            return "its eviction was refused a moment ago"
        last = self._last_of.get(workload) if workload is not None else None
        if last is not None and last.holds_up(uid, now_s, self.policy.pause_s, is_there):
            return "another pod of its workload was evicted a moment ago, or has not ended yet"
        return ""

    def evicted(self, uid: PodUid, workload: Workload | None, now_s: float) -> None:
        """A pod was evicted."""
        self._refused.pop(uid, None)
        self._count(workload, _Last(now_s, uid))

    def unsure(self, uid: PodUid, workload: Workload | None, now_s: float) -> None:
        """Nobody knows whether a pod was evicted: it counts, and is tried again later.

        Others of its workload wait for its end, as if it was; not for ever, as it may have stayed.
        """
        self._count(workload, _Last(now_s, uid, now_s + LONGEST_BACKOFF_S))
        self.refused(uid, now_s)

    def _count(self, workload: Workload | None, last: _Last) -> None:
        self._times.append(last.at_s)
        if workload is not None:
            self._last_of[workload] = last
            _forget_oldest(self._last_of)

    def refused(self, uid: PodUid, now_s: float, at_least_s: float = 0.0) -> float:
        """An eviction was refused; for how many seconds it is not tried again."""
        times = self._refused[uid].times + 1 if uid in self._refused else 1
        pause_s = max(at_least_s, min(FIRST_BACKOFF_S * 2.0 ** (times - 1), LONGEST_BACKOFF_S))
        self._refused[uid] = _Refused(min(times, 32), now_s + pause_s)
        _forget_oldest(self._refused)
        return pause_s


def _forget_oldest(
    remembered: dict[Workload, _Last] | dict[PodUid, _Refused],
) -> None:
    """A controller runs for months."""
    while len(remembered) > MOST_REMEMBERED:
        remembered.pop(next(iter(remembered)))  # type: ignore[call-overload]
