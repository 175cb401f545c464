"""What an operator's word does to one GPU's state. Pure; `nodeagent.health.machine` calls it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from nodeagent.health.causes import Cause, CauseKind, Condition, condition_cause
from nodeagent.health.condition import Fault, GpuState, Now
from nodeagent.health.observations import Presence, Reading, Word

_STANDING = frozenset({condition_cause(Condition.ROW_REMAP_FAILURE)})
"""Conditions that hold at each reading and yet can be lived with, if an operator says so."""
_AWAY = frozenset(
    map(
        condition_cause,
        (
            *(Condition.LOST, Condition.MISSING, Condition.UNREADABLE, Condition.RESET_REQUIRED),
            *(Condition.DRIVER_HANG, Condition.DRIVER_UNAVAILABLE),
        ),
    )
)
"""Conditions in which a GPU does not answer: no word makes it of use to anybody."""
_EVENTS = frozenset({condition_cause(Condition.UNCORRECTABLE_ECC)})
"""Conditions that happen, where the others hold for a while."""
_ROUNDING_S = 0.001
"""Of times since the epoch, in which there is less than that of a second."""


def restored(state: GpuState, word: Word, now: Now) -> GpuState:
    """What was before the word ends with it; what cannot go away by itself is accepted.

    A GPU that does not answer is as unfit as before: as of the word, so that whoever gave it can
    tell that it was heeded.
    """
    left = []
    for fault in state.faults:
        if not _was_before(fault, word, state, now):
            left.append(fault)
        elif fault.cause in _STANDING or fault.cause.kind == CauseKind.RECOVERY_ACTION.value:
            left.append(replace(fault, accepted=word))
        elif fault.cause in _AWAY and _holds(fault, state):
            left.append(replace(fault, since_wall=_after(word.given_wall)))
        else:
            state = state.settling(fault)
    return replace(state, exclusion=None, heeded_wall=word.given_wall, faults=tuple(left))


def _was_before(fault: Fault, word: Word, state: GpuState, now: Now) -> bool:
    """Whether ``word`` can be meant of ``fault``.

    What holds at each reading was before it if it began before; an event, if its last one was.
    When that was in an earlier boot is not known, only that it was before this one.
    """
    if fault.cause.kind != CauseKind.XID.value and fault.cause not in _EVENTS:
        return fault.since_wall <= word.given_wall + _ROUNDING_S
    if fault.boot_id != state.boot_id:
        return now.wall - state.clock_s <= word.given_wall
    last_wall = now.wall - (state.clock_s - fault.last_s)
    return last_wall <= word.given_wall + _ROUNDING_S


def _holds(fault: Fault, state: GpuState) -> bool:
    """Whether no reading since has shown the GPU without it."""
    return fault.boot_id == state.boot_id and (
        state.clean is None or state.clean.since_s <= fault.last_s
    )


def _after(wall: float) -> float:
    """The next whole second: times are reported in those."""
    return math.floor(wall) + 1.0


def without_accepted(state: GpuState, wrong: Sequence[Cause], reading: Reading) -> GpuState:
    """An accepted fault is forgotten when a reading shows that it is gone."""
    if reading.presence is not Presence.PRESENT:
        return state

    def gone(fault: Fault) -> bool:
        if fault.accepted is None or fault.cause in wrong:
            return False
        if fault.cause.kind == CauseKind.RECOVERY_ACTION.value:
            return reading.recovery_action is not None
        return reading.remap_failure is not None

    return state.keeping(lambda fault: not gone(fault))


def without_ended_words(state: GpuState, now: Now) -> GpuState:
    """What an operator said until some time ends then, by the clock that people go by."""
    if state.exclusion is None and not state.faults:
        return state

    def ended(word: Word | None) -> bool:
        return word is not None and word.until_wall is not None and word.until_wall <= now.wall

    if ended(state.exclusion):
        state = replace(state, exclusion=None)
    faults = tuple(
        replace(fault, accepted=None) if ended(fault.accepted) else fault for fault in state.faults
    )
    return replace(state, faults=faults)
