"""One GPU's health: (state, what was seen, now, policy) -> state. Pure.

Faults are kept by cause, each until the evidence that its class asks for is there; a GPU is fit
when none is left that counts. Evidence is only what was seen after a fault:

- verified: it answers, asks for no recovery action, and has stayed clean for the dwell time, with
  enough readings and no gap between them;
- reset: it was away, or asked for a reset, or its count of errors fell, and then was read well;
- reboot: the boot id is another one.

What is told twice, late or in another order ends in the same state: occurrences are compared by
the time when they happened, and one that has been settled is not news again.
"""

from __future__ import annotations

from dataclasses import replace

from nodeagent.health.causes import (
    Cause,
    CauseKind,
    Condition,
    condition_cause,
    recovery_cause,
    xid_cause,
)
from nodeagent.health.condition import Clean, Fault, GpuState, Now
from nodeagent.health.evidence import has_ended
from nodeagent.health.observations import (
    Excluded,
    Presence,
    Reading,
    Restored,
    Seen,
    TakenBack,
    XidSeen,
)
from nodeagent.health.operators import restored, without_accepted, without_ended_words
from nodeagent.health.policy import Policy

LONGEST_GAP_S = 60.0
"""Between two readings: after a longer one nobody knows whether it has stayed clean."""

UNREADABLE_AFTER = 3
"""Readings in a row that fail, before that is a fault and no accident."""

RESET_ACTIONS = frozenset({1, 2, 4, 6, 7})
"""Recovery actions that only a reset, or more than that, takes away."""

_OF_PRESENCE = {
    Presence.LOST: Condition.LOST,
    Presence.MISSING: Condition.MISSING,
    Presence.RESET_REQUIRED: Condition.RESET_REQUIRED,
    Presence.DRIVER_HANGS: Condition.DRIVER_HANG,
    Presence.DRIVER_UNAVAILABLE: Condition.DRIVER_UNAVAILABLE,
    Presence.DRIVER_NOT_LOADED: Condition.DRIVER_UNAVAILABLE,
}
_AWAY = frozenset(
    {Presence.LOST, Presence.MISSING, Presence.RESET_REQUIRED, Presence.DRIVER_NOT_LOADED}
)


def step(state: GpuState, seen: Seen, now: Now, policy: Policy) -> GpuState:
    """The state after ``seen``.

    Args:
        state: What is remembered of the GPU.
        seen: What a source or an operator told.
        now: When it was told, on the node's clocks.
        policy: What each cause means today; faults are judged by it anew each time.
    """
    was_fit = not state.counting
    state = _at(state, now)
    if isinstance(seen, XidSeen):
        state = _with_xid(state, seen, now, policy)
    elif isinstance(seen, Reading):
        state = _with_reading(state, seen, now, policy)
    elif isinstance(seen, Excluded):
        state = replace(state, exclusion=seen.word)
    elif isinstance(seen, Restored):
        state = restored(state, seen.word, now)
    elif isinstance(seen, TakenBack):
        state = replace(state, exclusion=None)
    state = without_ended_words(state, now)
    state = _without_ended_faults(state, policy)
    return _counted(state, policy, was_fit=was_fit)


def time_matters(state: GpuState) -> bool:
    """Whether `TimePassed` may change more of ``state`` than its clock, under the same policy."""
    words = (state.exclusion, *(fault.accepted for fault in state.faults))
    return (
        any(word is not None and word.until_wall is not None for word in words)
        or bool(state.relapses)
        or (state.fit_since_s is None and not state.counting)
    )


def replaced_board(state: GpuState) -> GpuState:
    """Another board is in its place: judged afresh. An exclusion is of the place and stays."""
    return GpuState(exclusion=state.exclusion)


def _at(state: GpuState, now: Now) -> GpuState:
    """Time runs forward within a boot; with a new one it begins again, and readings with it."""
    if state.boot_id == now.boot_id:
        return replace(state, clock_s=max(state.clock_s, now.boot_s))
    return replace(
        state,
        boot_id=now.boot_id,
        clock_s=now.boot_s,
        settled=(),
        clean=None,
        reset_s=None,
        fit_since_s=None if state.fit_since_s is None else now.boot_s,
        away=False,
        asks_for_reset=False,
        uncorrectable_errors=None,
        unreadable=0,
    )


def _with_xid(state: GpuState, seen: XidSeen, now: Now, policy: Policy) -> GpuState:
    cause = xid_cause(seen.xid)
    if policy.rule(cause).fault_class.leaves_fit:
        return state
    at_s = min(seen.at_s, state.clock_s)
    if any(old.cause == cause and at_s <= old.last_s for old in state.settled):
        return state
    happened = Fault(
        cause,
        state.boot_id,
        at_s,
        since_wall=now.wall - (state.clock_s - at_s),
        source=seen.source,
        detail=seen.detail,
    )
    return _with_fault(state, happened)


def _with_fault(state: GpuState, happened: Fault) -> GpuState:
    """A fault happens, again or for the first time; one that is older than what is known is not."""
    known = state.fault(happened.cause)
    if known is not None and known.boot_id == happened.boot_id:
        # A driver tells one fault again and again, each time in other words: the first are kept.
        detail = known.detail or happened.detail
        if happened.last_s <= known.last_s:
            since_wall = min(known.since_wall, happened.since_wall)
            return state.with_fault(replace(known, since_wall=since_wall, detail=detail))
        happened = replace(happened, source=known.source, detail=detail)
    if known is not None:
        # A clock that people set back makes nothing older than it is.
        happened = replace(happened, since_wall=known.since_wall)
    if state.clean is not None and state.clean.since_s <= happened.last_s:
        state = replace(state, clean=None)
    return state.with_fault(happened)


def _with_reading(state: GpuState, reading: Reading, now: Now, policy: Policy) -> GpuState:
    state = _with_reset(state, reading)
    failed = state.unreadable + 1 if reading.presence is Presence.UNREADABLE else 0
    state = replace(state, unreadable=failed)
    wrong = _wrong_with(state, reading)
    counting = [cause for cause in wrong if _counts(cause, state, policy)]
    for cause in counting:
        happened = Fault(
            cause, state.boot_id, state.clock_s, now.wall, reading.source, reading.detail
        )
        state = _with_fault(state, happened)
    state = without_accepted(state, wrong, reading)
    state = _remembering(state, reading)
    if counting or reading.presence is not Presence.PRESENT or _leaves_open(state, reading):
        return replace(state, clean=None)
    return replace(state, clean=_one_more(state.clean, state.clock_s))


def _counts(cause: Cause, state: GpuState, policy: Policy) -> bool:
    known = state.fault(cause)
    accepted = known is not None and known.accepted is not None
    return not accepted and not policy.rule(cause).fault_class.leaves_fit


def _wrong_with(state: GpuState, reading: Reading) -> list[Cause]:
    """What is wrong, going by one reading and what is remembered of those before it."""
    if reading.presence in _OF_PRESENCE:
        return [condition_cause(_OF_PRESENCE[reading.presence])]
    if reading.presence is Presence.UNREADABLE:
        failed = state.unreadable >= UNREADABLE_AFTER
        return [condition_cause(Condition.UNREADABLE)] if failed else []
    wrong = []
    if reading.remap_failure:
        wrong.append(condition_cause(Condition.ROW_REMAP_FAILURE))
    if reading.recovery_action:
        wrong.append(recovery_cause(reading.recovery_action))
    if (reading.uncorrectable_errors or 0) > (state.uncorrectable_errors or 0):
        wrong.append(condition_cause(Condition.UNCORRECTABLE_ECC))
    return wrong


def _leaves_open(state: GpuState, reading: Reading) -> bool:
    """A driver that cannot tell its recovery action does not say that it asks for none."""
    return reading.recovery_action is None and any(
        fault.cause.kind == CauseKind.RECOVERY_ACTION.value and fault.boot_id == state.boot_id
        for fault in state.counting
    )


def _with_reset(state: GpuState, reading: Reading) -> GpuState:
    """Whether this reading shows that the GPU was reset since the one before it."""
    if reading.presence is not Presence.PRESENT or reading.recovery_action in RESET_ACTIONS:
        return state
    asked_and_does_not = state.asks_for_reset and reading.recovery_action is not None
    count, before = reading.uncorrectable_errors, state.uncorrectable_errors
    counts_anew = count is not None and before is not None and count < before
    if not (state.away or asked_and_does_not or counts_anew):
        return state
    return replace(
        state,
        reset_s=state.clock_s,
        clean=None,
        uncorrectable_errors=0 if counts_anew else before,
    )


def _remembering(state: GpuState, reading: Reading) -> GpuState:
    """What the next reading is compared with. A reading that knows nothing changes nothing."""
    away = state.away
    if reading.presence in _AWAY:
        away = True
    elif reading.presence is Presence.PRESENT:
        away = False
    if reading.presence is not Presence.PRESENT:
        return replace(state, away=away)
    asks, count = state.asks_for_reset, reading.uncorrectable_errors
    if reading.recovery_action is not None:
        asks = reading.recovery_action in RESET_ACTIONS
    return replace(
        state,
        away=away,
        asks_for_reset=asks,
        uncorrectable_errors=state.uncorrectable_errors if count is None else count,
        remap_pending=bool(reading.remap_pending),
    )


def _one_more(clean: Clean | None, at_s: float) -> Clean:
    if clean is None or at_s - clean.last_s > LONGEST_GAP_S:
        return Clean(at_s, at_s, 1)
    return Clean(clean.since_s, at_s, clean.readings + 1)


def _without_ended_faults(state: GpuState, policy: Policy) -> GpuState:
    ended = [fault for fault in state.faults if has_ended(fault, state, policy)]
    if not ended:
        return state
    for fault in ended:
        state = state.settling(fault)
    return state.keeping(lambda fault: fault not in ended)


def _counted(state: GpuState, policy: Policy, *, was_fit: bool) -> GpuState:
    """Relapses are counted when it turns unfit, and forgotten when it has been fit for long."""
    if state.counting:
        relapses = state.relapses + 1 if was_fit else state.relapses
        return replace(state, relapses=relapses, fit_since_s=None)
    if state.fit_since_s is None:
        return replace(state, fit_since_s=state.clock_s)
    if state.relapses and state.clock_s - state.fit_since_s >= policy.recovery.steady_s:
        return replace(state, relapses=0)
    return state
