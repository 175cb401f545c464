"""What others wrote cannot steer a terminal, and what is harmless stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.cli.output.terminal_text import one_line, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python3.11", "python3.11"),
        ("übung 訓練", "übung 訓練"),
        ("", ""),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("a\r\nb", "a\\r\\nb"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb", "a\\u200bb"),
        ("a\xa0b", "a\\xa0b"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_shown(text: str, expected: str) -> None:
    assert shown(text) == expected


@given(st.text(st.characters(codec=None)))
def test_shown_is_printable_whatever_comes(text: str) -> None:
    assert shown(text).isprintable()
    if text.isprintable():
        assert shown(text) == text


@given(st.text(st.characters(codec=None)))
def test_one_line_is_one(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert line == line.strip()


def test_one_line_joins_lines() -> None:
    assert one_line(" its shim\n did not\tanswer\x1b ") == "its shim did not answer\\x1b"
