from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.accounting.quantity import LARGEST, parse_quantity


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0", 0),
        ("8", 8),
        (8, 8),
        ("+8", 8),
        ("-8", -8),
        ("1k", 1000),
        ("2Ki", 2048),
        ("2Gi", 2 * 1024**3),
        ("3M", 3_000_000),
        ("1.5Ki", 1536),
        (".5k", 500),
        ("5.", 5),
        ("1500m", 2),
        ("1u", 1),
        ("1n", 1),
        ("1e3", 1000),
        ("1E3", 1000),
        ("15e-1", 2),
        ("1E", 10**18),
        ("8Ei", LARGEST),
        ("9223372036854775808", LARGEST),
        ("1e999999999", LARGEST),
        ("1e-999999999", 1),
        ("0e999999999", 0),
    ],
)
def test_as_kubernetes_reads_it(written: str | int, meant: int) -> None:
    assert parse_quantity(written) == meant


@pytest.mark.parametrize(
    "written",
    ["", " 8", "8 ", "8Q", "8kB", "1,5", "0x8", "eight", "1e", "--1", "inf", "nan", "²", "٣"],
)
def test_what_is_none(written: str) -> None:
    with pytest.raises(ValueError, match="no quantity: write it as"):
        parse_quantity(written)


@given(st.text(max_size=60))
def test_any_text_is_a_whole_number_or_none(text: str) -> None:
    try:
        read = parse_quantity(text)
    except ValueError:
        return
    assert abs(read) <= LARGEST
    assert text.isascii()


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=3), st.sampled_from("kMG"))
def test_never_less_than_what_is_written(number: Decimal, suffix: str) -> None:
    scale = {"k": 10**3, "M": 10**6, "G": 10**9}[suffix]
    read = parse_quantity(f"{number:f}{suffix}")
    assert 0 <= read - number * scale < 1 or abs(read) == LARGEST
