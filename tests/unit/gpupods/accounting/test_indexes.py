from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.accounting.indexes import format_index, parse_index


def as_volcano_reads(value: str) -> list[int] | None:
    """Its scheduler splits at commas and parses whole numbers; one that is none spoils all."""
    try:
        return [int(part) for part in value.split(",") if part.strip() == part or int("no")]
    except ValueError:
        return None


def test_to_the_letter() -> None:
    assert format_index([1]) == "1"
    assert format_index([3, 0]) == "0,3"


@given(st.sets(st.integers(0, 1023), min_size=1))
def test_what_is_written_is_read_by_us_and_by_volcano(indexes: set[int]) -> None:
    written = format_index(indexes)
    assert parse_index(written) == indexes
    assert as_volcano_reads(written) == sorted(indexes)


@pytest.mark.parametrize("value", ["", "0,", "0, 1", " 0", "-1", "a", "0;1", "1.5", "²", "99999"])
def test_what_no_scheduler_writes(value: str) -> None:
    with pytest.raises(ValueError, match=r"volcano.sh/gpu-index is .*no index of a GPU"):
        parse_index(value)
