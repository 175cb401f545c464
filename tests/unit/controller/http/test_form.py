from __future__ import annotations

from urllib.parse import quote_from_bytes, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.http.errors import BadRequestError
from controller.http.form import merge_forms, parse_form, unescape_path


@pytest.mark.parametrize(
    ("encoded", "form"),
    [
        (b"", {}),
        (b"&&", {}),
        (b"a=1&b=2&a=3", {"a": ["1", "3"], "b": ["2"]}),
        (b"a", {"a": [""]}),
        (b"=b", {"": ["b"]}),
        (b"a=b=c", {"a": ["b=c"]}),
        (b"a+b=c+d%2B", {"a b": ["c d+"]}),
        (b"a=%C3%BC", {"a": ["ü"]}),
        (b"a=\xc3\xbc", {"a": ["ü"]}),
        (b"a=%ff", {"a": ["\udcff"]}),
        (b"a=%3B", {"a": [";"]}),
    ],
)
def test_parse(encoded: bytes, form: dict[str, list[str]]) -> None:
    assert parse_form(encoded) == form


@pytest.mark.parametrize(
    ("encoded", "says"),
    [
        (b"a;b", "invalid semicolon separator in query"),
        (b"a=%zz&b;c", "invalid semicolon separator in query"),
        (b"a=%zz", 'invalid URL escape "%zz"'),
        (b"a=%", 'invalid URL escape "%"'),
        (b"a=%e", 'invalid URL escape "%e"'),
        (b"a=%\xff\n", r'invalid URL escape "%\\xff\\n"'),
        (b"%zz=a", 'invalid URL escape "%zz"'),
        (b"&" * 10_000, "number of URL query parameters exceeded limit"),
    ],
)
def test_refused(encoded: bytes, says: str) -> None:
    with pytest.raises(BadRequestError, match=rf"^{says}$"):
        parse_form(encoded)


def test_ten_thousand_parameters_are_allowed() -> None:
    assert len(parse_form(b"&".join(b"a%d=1" % number for number in range(10_000)))) == 10_000


@given(st.lists(st.tuples(st.text(), st.text())))
def test_what_urlencode_writes_is_read_back(pairs: list[tuple[str, str]]) -> None:
    written = urlencode([pair for pair in pairs if pair != ("", "")]).encode()
    read = [(key, value) for key, values in parse_form(written).items() for value in values]
    assert sorted(read) == sorted(pair for pair in pairs if pair != ("", ""))


@given(st.binary())
def test_an_escaped_path_is_read_back(path: bytes) -> None:
    text = unescape_path(quote_from_bytes(path).encode())
    assert text.encode("utf-8", "surrogateescape") == path


@given(st.binary())
def test_any_bytes_are_read_or_refused(encoded: bytes) -> None:
    try:
        parse_form(encoded)
    except BadRequestError as error:
        str(error).encode()


def test_posted_values_come_first() -> None:
    merged = merge_forms({"a": ["1"]}, {"a": ["2"], "b": ["3"]})
    assert merged == {"a": ["1", "2"], "b": ["3"]}
