"""Pods that may be meant by a name that no pod has. Pure, and bounded: a guess must cost little."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from controller.cache.records import PodRecord

LOOKED_AT = 20_000
"""Pods, at most: a few milliseconds' worth. In a larger cluster some names are not guessed."""
COMPARED = 1_000
"""Names, letter by letter."""
SHOWN = 5
SLIP = 2
"""Letters in one place that may be others, too many, missing, or in another order."""


def near_pods(name: str, pods: Iterable[PodRecord]) -> list[str]:
    """Those whose names begin with ``name``, else those that differ by a slip: "ns/name" each."""
    beginning: list[PodRecord] = []
    alike: list[PodRecord] = []
    first, last, length = name[:1], name[-1:], len(name)
    for pod in islice(pods, LOOKED_AT):
        other = pod.name
        if other.startswith(name):
            beginning.append(pod)
            if len(beginning) == COMPARED:
                break
        elif -SLIP <= len(other) - length <= SLIP and (
            other.startswith(first) or other.endswith(last)
        ):
            alike.append(pod)
    near = beginning or [pod for pod in alike[:COMPARED] if is_a_slip(name, pod.name)]
    return sorted(str(pod.ref) for pod in near)[:SHOWN]


def is_a_slip(name: str, other: str) -> bool:
    """Whether they are the same but for `SLIP` letters in one place."""
    shorter = min(len(name), len(other))
    begin = 0
    while begin < shorter and name[begin] == other[begin]:
        begin += 1
    end = 0
    while end < shorter - begin and name[-1 - end] == other[-1 - end]:
        end += 1
    return max(len(name), len(other)) - begin - end <= SLIP
