"""What can be wrong with a GPU, and which evidence ends it. Values only."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class FaultClass(enum.Enum):
    """What a fault means for its GPU; the values are the policy file's."""

    APPLICATION = "application"
    IGNORED = "ignored"
    INFORMATIONAL = "informational"
    UNTIL_VERIFIED = "until-verified"
    UNTIL_RESET = "until-reset"
    UNTIL_REBOOT = "until-reboot"
    UNTIL_PERSON = "until-person"
    REPLACE_BOARD = "replace-board"

    @property
    def leaves_fit(self) -> bool:
        """Whether a GPU with such a fault may be given to somebody all the same."""
        return self in _LEAVE_FIT

    @property
    def gravity(self) -> int:
        """How much it takes to end it: of several faults the gravest leads the report."""
        return _BY_GRAVITY.index(self)


_LEAVE_FIT = frozenset({FaultClass.APPLICATION, FaultClass.IGNORED, FaultClass.INFORMATIONAL})
_BY_GRAVITY = tuple(FaultClass)


class Condition(enum.Enum):
    """What is seen without an XID, or of an unknown one; the values are the policy file's."""

    UNKNOWN_XID = "unknown-xid"
    LOST = "lost"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    RESET_REQUIRED = "reset-required"
    ROW_REMAP_FAILURE = "row-remap-failure"
    UNCORRECTABLE_ECC = "uncorrectable-ecc"
    DRIVER_HANG = "driver-hang"
    DRIVER_UNAVAILABLE = "driver-unavailable"


class CauseKind(enum.Enum):
    """Where the name of a cause comes from."""

    XID = "xid"
    CONDITION = "condition"
    RECOVERY_ACTION = "recovery-action"


_NUMBERED = frozenset({CauseKind.XID.value, CauseKind.RECOVERY_ACTION.value})


@dataclass(frozen=True, slots=True, order=True)
class Cause:
    """The name of one fault: two observations with one cause are the same fault again."""

    kind: str
    """A `CauseKind`'s value: ordered and written to disk as it is."""
    name: str
    """The XID, the recovery action, or the condition's value."""

    def __post_init__(self) -> None:
        """What is read from a file must be one. Raises ValueError."""
        if self.kind in _NUMBERED and not (self.name.isascii() and self.name.isdigit()):
            raise ValueError(f"{self.name!r} is the name of no {self.kind}")

    def __str__(self) -> str:
        """For people: ``XID 79``, ``row-remap-failure``, ``recovery action 2``."""
        if self.kind == CauseKind.XID.value:
            return f"XID {self.name}"
        if self.kind == CauseKind.RECOVERY_ACTION.value:
            return f"recovery action {self.name}"
        return self.name

    @property
    def xid(self) -> int | None:
        """The XID, if it is one."""
        return int(self.name) if self.kind == CauseKind.XID.value else None


def xid_cause(xid: int) -> Cause:
    """The cause of one XID."""
    return Cause(CauseKind.XID.value, str(xid))


def condition_cause(condition: Condition) -> Cause:
    """The cause of one condition."""
    return Cause(CauseKind.CONDITION.value, condition.value)


def recovery_cause(action: int) -> Cause:
    """The cause of a recovery action that the driver asks for."""
    return Cause(CauseKind.RECOVERY_ACTION.value, str(action))
