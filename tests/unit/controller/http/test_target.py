from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.http.errors import BadRequestError
from controller.http.target import Target, split_target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("/gpu-pods", Target("/gpu-pods", b"")),
        ("/gpu-pods?a=%zz?b", Target("/gpu-pods", b"a=%zz?b")),
        ("/gpu%2Dpods%2f", Target("/gpu-pods/", b"")),
        ("/a+b", Target("/a+b", b"")),
        ("/%ff", Target("/\udcff", b"")),
        ("//host/a", Target("//host/a", b"")),
        ("http://host:80/a?b", Target("/a", b"b")),
        ("http://host?b", Target("", b"b")),
        ("*", Target("*", b"")),
        ("", Target("", b"")),
    ],
)
def test_split(text: str, target: Target) -> None:
    assert split_target(text) == target


@pytest.mark.parametrize("text", ["/%zz", "/%", "/a b", "/a\x7f", "/a?b\x00", "/\n"])
def test_refused(text: str) -> None:
    with pytest.raises(BadRequestError, match="invalid"):
        split_target(text)


@given(st.binary())
def test_any_target_is_read_or_refused(encoded: bytes) -> None:
    try:
        split_target(encoded.decode("utf-8", "surrogateescape"))
    except BadRequestError as error:
        assert str(error).isascii()  # noqa: PT017
