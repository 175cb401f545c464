"""Quantities for people. Unknown is "?", never 0. Pure."""

from __future__ import annotations

from datetime import datetime

UNKNOWN = "?"
GIB = 1024


def memory(mib: int | None) -> str:
    """``512`` -> "512 MiB", ``61542`` -> "60.1 GiB"."""
    if mib is None:
        return UNKNOWN
    return f"{mib} MiB" if abs(mib) < GIB else f"{mib / GIB:.1f} GiB"


def used_of_total(used_mib: int | None, total_mib: int | None) -> str:
    """In one unit where that says something: "61.2 / 80.0 GiB", but "4 MiB / 80.0 GiB"."""
    used, total = memory(used_mib), memory(total_mib)
    if used.endswith(" GiB") and total.endswith(" GiB"):
        used = used.removesuffix(" GiB")
    return f"{used} / {total}"


def percent(value: int | None) -> str:
    """``93`` -> "93 %"."""
    return UNKNOWN if value is None else f"{value} %"


def moment(time: datetime | None) -> str:
    """To the second, in UTC: "2026-11-30 09:00:00Z"."""
    return UNKNOWN if time is None else f"{time:%Y-%m-%d %H:%M:%S}Z"
