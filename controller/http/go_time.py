"""Moments and durations from text, as Go's time package reads and refuses them."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date

from controller.http.errors import BadRequestError
from controller.http.go_quote import quote_ascii as quote

NANOS = 1_000_000_000

_LAYOUT = "2006-01-02T15:04:05.999999999Z07:00"
_MAX_INT64 = (1 << 63) - 1
_INT64_DIGITS = 19
_MONTHS = 12
_EPOCH_DAY = 719_163  # 1970-01-01 as date.toordinal() counts
_DAYS_OF_YEAR_0 = 366

# What stands before an element, the element as Go names it, its digits, and its name and limits.
_ELEMENTS = (
    ("", "2006", re.compile(r"\d{4}", re.ASCII), "year", 0, 9999),
    ("-", "01", re.compile(r"\d{2}", re.ASCII), "month", 1, _MONTHS),
    ("-", "02", re.compile(r"\d{2}", re.ASCII), "day", 0, 99),
    ("T", "15", re.compile(r"\d{1,2}", re.ASCII), "hour", 0, 23),
    (":", "04", re.compile(r"\d{2}", re.ASCII), "minute", 0, 59),
    (":", "05", re.compile(r"\d{2}", re.ASCII), "second", 0, 59),
)
_FRACTION = re.compile(r"[.,](\d+)", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})", re.ASCII)
_MAX_OFFSET_HOUR = 24
_MAX_OFFSET_MINUTE = 60

_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_UNIT_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # the micro sign
    "\u03bcs": 1_000,  # the Greek letter
    "ms": 1_000_000,
    "s": NANOS,
    "m": 60 * NANOS,
    "h": 3600 * NANOS,
}


def read_rfc3339(text: str) -> tuple[int, int]:
    """Seconds since 1970 in UTC, and nanoseconds; digits beyond those are dropped.

    Raises:
        BadRequestError: it is no RFC 3339, or there is no such moment.
    """
    values = []
    rest = text
    for before, element, syntax, name, least, most in _ELEMENTS:
        if not rest.startswith(before):
            raise _cannot_parse(text, rest, before)
        rest = rest.removeprefix(before) if before else rest
        digits = syntax.match(rest)
        if digits is None:
            raise _cannot_parse(text, rest, element)
        if not least <= int(digits.group()) <= most:
            raise _out_of_range(text, name)
        values.append(int(digits.group()))
        rest = rest[digits.end() :]
    fraction = _FRACTION.match(rest)
    rest = rest[fraction.end() :] if fraction else rest
    offset_s, rest = _read_offset(text, rest)
    if rest:
        raise BadRequestError(f"parsing time {quote(text)}: extra text: {quote(rest)}")
    year, month, day, hour, minute, second = values
    if not 1 <= day <= _days_of_month(year, month):
        raise _out_of_range(text, "day")
    seconds = _days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    nanos = int(fraction.group(1)[:9].ljust(9, "0")) if fraction else 0
    return seconds - offset_s, nanos


def _days_of_month(year: int, month: int) -> int:
    return monthrange(year or 4, month)[1]  # the year 0 is a leap year, and calendar has none


def _days_since_epoch(year: int, month: int, day: int) -> int:
    if year == 0:
        return (
            date(4, month, day).toordinal()
            - date(4, 1, 1).toordinal()
            - _DAYS_OF_YEAR_0
            + (1 - _EPOCH_DAY)
        )
    return date(year, month, day).toordinal() - _EPOCH_DAY


def _read_offset(text: str, rest: str) -> tuple[int, str]:
    """Seconds east of UTC, and what follows."""
    if rest.startswith("Z"):
        return 0, rest[1:]
    match = _OFFSET.match(rest)
    if match is None:
        raise _cannot_parse(text, rest, "Z07:00")
    sign, hours, minutes = match.groups()
    if int(minutes) > _MAX_OFFSET_MINUTE:
        raise _out_of_range(text, "time zone offset minute")
    if int(hours) > _MAX_OFFSET_HOUR:
        raise _out_of_range(text, "time zone offset hour")
    offset = int(hours) * 3600 + int(minutes) * 60
    return (-offset if sign == "-" else offset), rest[match.end() :]


def _cannot_parse(text: str, rest: str, element: str) -> BadRequestError:
    return BadRequestError(
        f'parsing time {quote(text)} as "{_LAYOUT}": cannot parse {quote(rest)} as "{element}"'
    )


def _out_of_range(text: str, name: str) -> BadRequestError:
    return BadRequestError(f"parsing time {quote(text)}: {name} out of range")


def read_duration_ns(text: str) -> int:
    """Nanoseconds of ``1h2m3.5s``, ``-10ms``, ``0``.

    Raises:
        BadRequestError: it is not a duration, or longer than 292 years.
    """
    rest = text[1:] if text[:1] in ("-", "+") and text else text
    if rest == "0":
        return 0
    invalid = BadRequestError(f"time: invalid duration {quote(text)}")
    if not rest:
        raise invalid
    total = 0
    while rest:
        part = _DURATION_PART.match(rest)
        if part is None or not (part.group(1) or part.group(2)):
            raise invalid
        total += _part_ns(text, part, invalid)
        rest = rest[part.end() :]
    sign = -1 if text.startswith("-") else 1
    if total > _MAX_INT64 + (sign < 0):
        raise invalid
    return sign * total


def _part_ns(text: str, part: re.Match[str], invalid: BadRequestError) -> int:
    whole, fraction, unit = part.groups()
    whole = whole.lstrip("0") or "0"
    if len(whole) > _INT64_DIGITS or int(whole) > _MAX_INT64 + 1:
        raise invalid
    if not unit:
        raise BadRequestError(f"time: missing unit in duration {quote(text)}")
    if unit not in _UNIT_NS:
        raise BadRequestError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
    counted = (fraction or "")[:_INT64_DIGITS]
    return int(whole + counted) * _UNIT_NS[unit] // int(10 ** len(counted))
