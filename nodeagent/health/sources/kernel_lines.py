"""Reads records of the kernel log: which of them is an XID, of which GPU. Pure.

A record of /dev/kmsg is ``priority,sequence,microseconds,flags;text``, with the facility in the
priority's upper bits, as Documentation/ABI/testing/dev-kmsg of the kernel has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KERNEL_FACILITY = 0
USER_FACILITY = 1

_RECORD = re.compile(rb"(\d+),(\d+),(\d+),[^;]*;([^\n]*)")
_XID = re.compile(
    r"NVRM: Xid \((?:PCI:)?"
    r"(?P<pci>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)"
    r"[^)]*\): (?P<xid>\d{1,5})(?!\d)(?:, ?(?P<rest>.*))?"
)
_LONGEST_DETAIL = 200


@dataclass(frozen=True, slots=True)
class Record:
    """One record."""

    facility: int
    sequence: int
    at_s: float
    """Seconds since the boot."""
    text: str


@dataclass(frozen=True, slots=True)
class XidLine:
    """An XID, as the driver writes it."""

    pci_address: str
    xid: int
    detail: str


def read_record(record: bytes) -> Record | None:
    """One read of /dev/kmsg; None if it is none. Continuation lines are left out."""
    found = _RECORD.match(record)
    if found is None:
        return None
    priority, sequence, microseconds = (int(field) for field in found.group(1, 2, 3))
    text = found[4].decode(errors="replace")
    return Record(priority >> 3, sequence, microseconds / 1_000_000, text)


def read_xid(text: str) -> XidLine | None:
    """The XID that a line of the driver reports; None if it reports none.

    The line begins with the driver's words: one that only quotes them is none.
    """
    found = _XID.match(text.lstrip())
    if found is None:
        return None
    detail = (found["rest"] or "").strip()[:_LONGEST_DETAIL]
    return XidLine(found["pci"], int(found["xid"]), detail)
