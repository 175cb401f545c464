"""Durations as people write them, quantities as they read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gpupods.cli.durations import parse_duration
from gpupods.cli.output.units import memory, moment, percent, used_of_total


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5), ("5", 5), ("0", 0), ("500ms", 0.5), ("1.5m", 90), ("1h", 3600), (" 2 s ", 2)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-1s", "5 days", "1e3", "nan", "inf", "٣s", "5s5s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: write 5s"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("mib", "text"),
    [(None, "?"), (0, "0 MiB"), (1023, "1023 MiB"), (1024, "1.0 GiB"), (81920, "80.0 GiB")],
)
def test_memory(mib: int | None, text: str) -> None:
    assert memory(mib) == text


@pytest.mark.parametrize(
    ("used", "total", "text"),
    [
        (61440, 81920, "60.0 / 80.0 GiB"),
        (4, 81920, "4 MiB / 80.0 GiB"),
        (None, 81920, "? / 80.0 GiB"),
        (None, None, "? / ?"),
        (2048, None, "2.0 GiB / ?"),
        (100, 512, "100 MiB / 512 MiB"),
    ],
)
def test_used_of_total(used: int | None, total: int | None, text: str) -> None:
    assert used_of_total(used, total) == text


def test_percent_and_moment() -> None:
    assert (percent(None), percent(0), percent(93)) == ("?", "0 %", "93 %")
    assert moment(None) == "?"
    assert moment(datetime(2026, 11, 30, 9, 0, 0, 999_999, tzinfo=UTC)) == "2026-11-30 09:00:00Z"
