"""What is to be told of one GPU, in words. Pure: equal while nothing worth telling changes."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gpupods.identity import GpuUuid
from nodeagent.health.causes import Cause
from nodeagent.health.condition import Fault, GpuState
from nodeagent.health.evidence import only_time_is_wanting
from nodeagent.health.inventory import Slot
from nodeagent.health.observations import Word
from nodeagent.health.policy import Policy

_READINGS_TO_TELL = 2


class Standing(enum.Enum):
    """How a GPU stands."""

    FIT = "fit"
    UNFIT = "unfit"
    RECOVERING = "recovering"
    """Unfit still, though all that is wanting is that it stays clean for a while."""
    EXCLUDED = "excluded"
    """An operator's word, whatever else there is."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One GPU of the node. Where it is fit and nothing is to be told, the words are empty."""

    index: int
    uuid: GpuUuid
    pci_address: str
    name: str
    standing: Standing
    reason: str
    """What is wrong: ``XID 79: the GPU has fallen off the bus``."""
    cause: Cause | None
    xid: int | None
    since_wall: float | None
    action: str
    ends: str
    source: str
    who: str
    """The operator, where it is an operator's word."""
    until_wall: float | None
    others: tuple[str, ...]
    """Further faults, each in the words of a reason."""

    @property
    def fit(self) -> bool:
        """Whether it may be given to somebody."""
        return self.standing is Standing.FIT

    @property
    def overridden(self) -> bool:
        """Whether an operator's word decides."""
        return bool(self.who)


def judge(slot: Slot, state: GpuState, policy: Policy) -> Verdict:
    """The verdict on the GPU of ``slot``."""
    faults = sorted(state.counting, key=lambda fault: _gravity(fault, policy))
    if state.exclusion is not None:
        return _excluded(slot, state.exclusion, faults, policy)
    if faults:
        return _unfit(slot, state, faults, policy)
    accepted = sorted(state.faults, key=lambda fault: _gravity(fault, policy))
    return _fit(slot, accepted, policy)


def _gravity(fault: Fault, policy: Policy) -> tuple[int, bool, float, Cause]:
    """The gravest first; of equals the one with an XID, which says more than what followed."""
    fault_class = policy.rule(fault.cause).fault_class
    return -fault_class.gravity, fault.cause.xid is None, fault.since_wall, fault.cause


def _unfit(slot: Slot, state: GpuState, faults: list[Fault], policy: Policy) -> Verdict:
    first, *others = faults
    recovers = _answers_well(state, policy) and all(
        only_time_is_wanting(fault, state, policy) for fault in faults
    )
    rule = policy.rule(first.cause)
    return Verdict(
        *(slot.index, slot.uuid, slot.pci_address, slot.name),
        standing=Standing.RECOVERING if recovers else Standing.UNFIT,
        reason=reason_of(first, policy),
        cause=first.cause,
        xid=first.cause.xid,
        since_wall=min(fault.since_wall for fault in faults),
        action=rule.action,
        ends=rule.ends,
        source=first.source,
        who="",
        until_wall=None,
        others=tuple(reason_of(fault, policy) for fault in others),
    )


def _answers_well(state: GpuState, policy: Policy) -> bool:
    """One good reading among bad ones is not worth telling, nor is the next bad one then."""
    enough = min(policy.recovery.clean_readings, _READINGS_TO_TELL)
    return state.clean is not None and state.clean.readings >= enough


def _excluded(slot: Slot, word: Word, faults: list[Fault], policy: Policy) -> Verdict:
    return Verdict(
        *(slot.index, slot.uuid, slot.pci_address, slot.name),
        standing=Standing.EXCLUDED,
        reason=f"excluded by {word.who}: {word.why}",
        cause=None,
        xid=None,
        since_wall=word.given_wall,
        action=f"ask {word.who}, or whoever knows of it, to take the word back",
        ends="with an operator's word" if word.until_wall is None else "at the time that was set",
        source="operator",
        who=word.who,
        until_wall=word.until_wall,
        others=tuple(reason_of(fault, policy) for fault in faults),
    )


def _fit(slot: Slot, accepted: list[Fault], policy: Policy) -> Verdict:
    word = next((fault.accepted for fault in accepted if fault.accepted is not None), None)
    return Verdict(
        *(slot.index, slot.uuid, slot.pci_address, slot.name),
        standing=Standing.FIT,
        reason="" if word is None else f"restored by {word.who}: {word.why}",
        cause=None,
        xid=None,
        since_wall=None if word is None else word.given_wall,
        action="",
        ends="",
        source="" if word is None else "operator",
        who="" if word is None else word.who,
        until_wall=None if word is None else word.until_wall,
        others=tuple(reason_of(fault, policy) for fault in accepted),
    )


def reason_of(fault: Fault, policy: Policy) -> str:
    """One fault in words."""
    what = policy.rule(fault.cause).what
    detail = f" ({fault.detail})" if fault.detail else ""
    return f"{fault.cause}: {what}{detail}"
