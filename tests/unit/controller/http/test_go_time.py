from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.http.errors import BadRequestError
from controller.http.go_time import read_duration_ns, read_rfc3339

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(
    lambda offset: timezone(timedelta(minutes=offset // timedelta(minutes=1)))
)


@given(st.datetimes(timezones=ZONES))
def test_what_isoformat_writes_is_read_back(moment: datetime) -> None:
    seconds, nanos = read_rfc3339(moment.isoformat())
    assert timedelta(seconds=seconds, microseconds=nanos / 1000) == moment - EPOCH


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:00:00Z", (0, 0)),
        ("1970-01-01T00:00:00.1234567899Z", (0, 123_456_789)),
        ("1970-01-01T00:00:00,5Z", (0, 500_000_000)),
        ("1970-01-01T1:00:00Z", (3600, 0)),
        ("1970-01-01T00:00:00+01:00", (-3600, 0)),
        ("0000-01-01T00:00:00Z", (-62_167_219_200, 0)),
        ("0000-12-31T23:59:59Z", (-62_135_596_801, 0)),
    ],
)
def test_moments(text: str, moment: tuple[int, int]) -> None:
    assert read_rfc3339(text) == moment


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", 'cannot parse "" as "2006"'),
        ("2026-1-02T00:00:00Z", 'cannot parse "1-02T00:00:00Z" as "01"'),
        ("2026-01-02 00:00:00Z", 'cannot parse " 00:00:00Z" as "T"'),
        ("2026-01-02T00:00:00", 'cannot parse "" as "Z07:00"'),
        ("2026-01-02T00:00:00Zx", 'extra text: "x"'),
        ("2026-13-02T00:00:00Z", "month out of range"),
        ("2026-02-29T00:00:00Z", "day out of range"),
        ("2026-01-00T00:00:00Z", "day out of range"),
        ("2026-01-02T24:00:00Z", "hour out of range"),
        ("2026-01-02T00:60:00Z", "minute out of range"),
        ("2026-01-02T00:00:60Z", "second out of range"),
        ("2026-01-02T00:00:00+25:00", "time zone offset hour out of range"),
        ("ü\udcff", r'cannot parse "\\xc3\\xbc\\xff" as "2006"'),
    ],
)
def test_what_is_no_moment(text: str, says: str) -> None:
    with pytest.raises(BadRequestError, match=rf"^parsing time .*{says}$"):
        read_rfc3339(text)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("1ns", 1),
        ("1us", 1_000),
        ("1µs", 1_000),
        ("1μs", 1_000),
        ("1.5ms", 1_500_000),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("-1h2m3s", -3_723_000_000_000),
        ("+1m", 60_000_000_000),
        ("0.1234567899s", 123_456_789),
        ("9223372036854775807ns", 9_223_372_036_854_775_807),
        ("-9223372036854775808ns", -9_223_372_036_854_775_808),
    ],
)
def test_durations(text: str, nanoseconds: int) -> None:
    assert read_duration_ns(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", 'invalid duration ""'),
        ("-", 'invalid duration "-"'),
        (".s", 'invalid duration ".s"'),
        ("1", 'missing unit in duration "1"'),
        ("1d", 'unknown unit "d" in duration "1d"'),
        ("1s2", 'missing unit in duration "1s2"'),
        ("9223372036854775808ns", 'invalid duration "9223372036854775808ns"'),
        ("9" * 30, f'invalid duration "{"9" * 30}"'),
    ],
)
def test_what_is_no_duration(text: str, says: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        read_duration_ns(text)
    assert str(caught.value) == f"time: {says}"


@given(st.text(alphabet="0123456789.smhnuµ-+"))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        assert abs(read_duration_ns(text)) <= 1 << 63
    except BadRequestError as error:
        assert str(error).startswith("time: ")  # noqa: PT017
