from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.http.body import merge_body
from controller.http.errors import BadRequestError
from tests.unit.controller.http.kinds import Everything


def merged(body: bytes, field: str = "*") -> Any:
    message = Everything()
    merge_body(message, field, body)
    return message


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"", {}),
        (b" \n", {}),
        (b"{}", {}),
        (b'{"text":"a","u64":"5","doubleWidth":"NaN"} rest', None),
        (b'{"text":"a","unknown":{"x":[1]}}', {"text": "a"}),
        (b'{"child":{"text":"a"},"words":null}', {"child": {"text": "a"}}),
        (b'{"byText":{"a":"1"},"children":[{},{"u32":1}]}', None),
    ],
)
def test_whole_message(body: bytes, fields: dict[str, Any] | None) -> None:
    message = merged(body)
    if fields is not None:
        assert message == Everything(**fields)
    else:
        assert message.ByteSize() > 0


def test_one_field() -> None:
    assert merged(b'{"text":"a"}', "child") == Everything(child={"text": "a"})
    assert merged(b'["a"]', "words") == Everything(words=["a"])
    assert merged(b'"a"', "text") == Everything(text="a")
    assert merged(b'"1970-01-01T00:00:05Z"', "at") == Everything(at={"seconds": 5})
    assert merged(b"", "child") == Everything(child={})


@pytest.mark.parametrize(
    "body",
    [
        b"null", b"[]", b"1", b'"x"', b"{", b"x", b"\xff", b'{"text":"\xff"}', b'{"text":1}',
        b'{"text":"a","text":"b"}', b'{"byText":{"a":"1","a":"2"}}', b'{"u32":-1}',
        b'{"doubleWidth":NaN}', b'{"doubleWidth":1e400}', b'{"child":[]}', b'{"child":"x"}',
        b'{"children":[[]]}', b'{"children":{}}', b'{"byText":[]}', b'{"childByText":{"a":[]}}',
        b'{"text":"\\ud800"}', b"[" * 100_000, b'{"child":' * 100_000,
    ],
)  # fmt: skip
def test_refused(body: bytes) -> None:
    with pytest.raises(BadRequestError, match=r"^proto: "):
        merged(body)


@given(st.binary())
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        merged(body)
    except BadRequestError as error:
        assert str(error)  # noqa: PT017


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(
        [field.json_name for field in Everything.DESCRIPTOR.fields]), inner),
)  # fmt: skip


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    import json  # noqa: PLC0415

    try:
        merged(json.dumps(value).encode())
    except BadRequestError as error:
        assert str(error)  # noqa: PT017
