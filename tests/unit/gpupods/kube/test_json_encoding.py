from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.kube.encoding import Page, Status
from gpupods.kube.failures import MalformedError
from gpupods.kube.json_encoding import MAX_EVENT_BYTES, JsonEncoding, Lines
from gpupods.kube.objects import Pod

LINE = st.binary(min_size=1, max_size=30).filter(lambda line: b"\n" not in line and line.strip())


@given(st.lists(LINE, max_size=10), st.lists(st.integers(1, 40), min_size=1))
def test_lines_are_found_wherever_the_stream_is_cut(lines: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cutter, found, turn = Lines(), [], 0
    while stream:
        size = sizes[turn % len(sizes)]
        found += cutter.feed(stream[:size])
        stream, turn = stream[size:], turn + 1
    assert found == lines


def test_a_line_without_end_is_refused() -> None:
    cutter = Lines()
    assert cutter.feed(b"x" * MAX_EVENT_BYTES) == []
    with pytest.raises(MalformedError):
        cutter.feed(b"x")


def read(*pieces: bytes) -> Page:
    reader = JsonEncoding(Pod).page_reader()
    for piece in pieces:
        assert reader.feed(piece) == []
    return reader.finish()


def test_a_page_gives_its_token_and_items() -> None:
    page = read(
        b'{"metadata":{"resourceVersion":"7","continue":"abc","remainingItemCount":3},',
        b'"items":[{"metadata":{}},{"metadata":{}}]}',
    )
    assert (page.version, page.continue_token, len(page.items)) == ("7", "abc", 2)


@pytest.mark.parametrize("body", [b'{"metadata":{},"items":null}', b'{"metadata":{}}'])
def test_an_empty_list(body: bytes) -> None:
    assert read(body).items == []


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"<html>", b"\xff", b'{"items":[]}'])
def test_what_is_no_list(body: bytes) -> None:
    with pytest.raises(MalformedError):
        read(body)


@given(st.binary())
def test_no_bytes_bring_the_event_decoder_down(frame: bytes) -> None:
    encoding = JsonEncoding(Pod)
    with pytest.raises(MalformedError):
        encoding.event(frame)
    assert encoding.refusal(frame) == Status() or json.loads(frame)
