"""What was examined and found, as values: shared by the services, which examine, and the doctor.

Pure. The contract's messages are made from these and read into them here and nowhere else.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from gpupods.v1alpha1 import diagnosis_pb2 as pb

CLOCK_TOLERANCE_S = 1.0
"""Clocks that differ by less are well: start times and ages of samples are read by people."""

METHOD = "/gpupods.v1alpha1.DiagnosisService/Diagnose"


class Status(enum.IntEnum):
    """How a check came out; the numbers are the contract's."""

    OK = 1
    WARNING = 2
    FAILED = 3


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was examined.

    Attributes:
        name: In few words, the same on every node.
        status: How it came out.
        found: What was seen.
        advice: What to do about it; empty if nothing needs to be done.
    """

    name: str
    status: Status
    found: str
    advice: str = ""


def ok(name: str, found: str) -> Check:
    """It is well."""
    return Check(name, Status.OK, found)


def warning(name: str, found: str, advice: str) -> Check:
    """It works, and not as well as it could, or it is not certain that it is meant so."""
    return Check(name, Status.WARNING, found, advice)


def failed(name: str, found: str, advice: str) -> Check:
    """It does not work."""
    return Check(name, Status.FAILED, found, advice)


@dataclass(frozen=True, slots=True)
class Asked:
    """When somebody was asked for the time, by the asker's clock, in seconds since the epoch."""

    sent: float
    received: float


def clock_check(theirs: float, asked: Asked, whose: str) -> Check:
    """Compare two machines' clocks by one exchange.

    The other clock was read somewhere between the sending and the receiving, so half the time
    between them is what cannot be told.

    Args:
        theirs: The other clock, in seconds since the epoch.
        asked: When it was asked for.
        whose: "the controller's"; stands before "clock".
    """
    uncertain_s = max(0.0, asked.received - asked.sent) / 2
    ahead_s = theirs - (asked.sent + asked.received) / 2
    apart_s = max(0.0, abs(ahead_s) - uncertain_s)
    if apart_s <= CLOCK_TOLERANCE_S:
        return ok("clock", f"within {CLOCK_TOLERANCE_S:g} s of {whose}")
    direction = "ahead of" if ahead_s > 0 else "behind"
    return warning(
        "clock",
        f"{abs(ahead_s):.1f} s {direction} {whose} (give or take {uncertain_s:.1f} s)",
        "set both by NTP (chronyc tracking, timedatectl); until then the times that processes "
        "started at, and those of samples, are off by as much",
    )


def version_check(theirs: str, ours: str, whose: str) -> Check:
    """Compare the version of a service with that of ``whose``, "the controller"."""
    if theirs == ours:
        return ok("version", theirs)
    return warning(
        "version",
        f"{theirs or 'unknown'}, and that of {whose} is {ours}",
        "they work together as long as the contract is only added to; finish the upgrade",
    )


def to_message(check: Check) -> pb.Check:
    """As the contract has it."""
    return pb.Check(
        name=check.name,
        status=pb.CheckStatus.ValueType(check.status),
        found=check.found,
        advice=check.advice,
    )


def from_messages(checks: Iterable[pb.Check]) -> tuple[Check, ...]:
    """As the contract has them. A status of a later version counts as a warning."""
    known = {int(status): status for status in Status}
    return tuple(
        Check(each.name, known.get(each.status, Status.WARNING), each.found, each.advice)
        for each in checks
    )
