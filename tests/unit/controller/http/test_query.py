from __future__ import annotations

from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.http.errors import BadRequestError, UnencodableError
from controller.http.form import parse_form
from controller.http.query import Path, populate_from_path, populate_from_query
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.unit.controller.http.kinds import Everything

FIELDS = [field.name for field in Everything.DESCRIPTOR.fields]


def read(query: str, *bound: Path) -> Any:
    message = Everything()
    populate_from_query(message, parse_form(query.encode()), bound)
    return message


def refusal(query: str) -> str:
    with pytest.raises(BadRequestError) as caught:
        read(query)
    return str(caught.value)


@pytest.mark.parametrize(
    "query",
    [
        "worker_id=ns%2Fpod&only_this_pod=true&max_age_ms=250",
        "workerId=ns/pod&onlyThisPod=1&maxAgeMs=250",
        "worker_id=ns/pod&only_this_pod=T&max_age_ms=0250&nothing=1&nothing=2",
    ],
)
def test_the_contract_by_either_name(query: str) -> None:
    request = pb.GetGpuPodsRequest()
    populate_from_query(request, parse_form(query.encode()), ())
    wanted = pb.GetGpuPodsRequest(worker_id="ns/pod", only_this_pod=True, max_age_ms=250)
    assert request == wanted


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("", {}),
        ("text=", {"text": ""}),
        ("maybe_text=", {"maybe_text": ""}),
        ("child.child.text=a", {"child": {"child": {"text": "a"}}}),
        ("child.unknown=a", {"child": {}}),
        ("unknown.child=a", {}),
        ("words=a&words=b,c", {"words": ["a", "b,c"]}),
        ("kinds=KIND_TWO&kinds=1", {"kinds": [2, 1]}),
        ("by_text[a]=1&by_text[b.c]=2", {"by_text": {"a": "1", "b.c": "2"}}),
        ("by_text[]=1", {"by_text": {"": "1"}}),
        ("by_text=a&by_text=b", {"by_text": {"a": "b"}}),
        ("child.by_number[7]=true", {"child": {"by_number": {7: True}}}),
        ("chosen_child.text=a&chosen_child.u32=4", {"chosen_child": {"text": "a", "u32": 4}}),
        ("wrapped_u64=5", {"wrapped_u64": {"value": 5}}),
        ("at=1970-01-01T00:00:05Z", {"at": {"seconds": 5}}),
        ("at.seconds=5", {"at": {"seconds": 5}}),
        ("lasts=-1.5s", {"lasts": {"seconds": -1, "nanos": -500_000_000}}),
        ("mask=a,b", {"mask": {"paths": ["a", "b"]}}),
        ("empty=", {"empty": {}}),
        ("another.name=a", {}),
        ("renamed=a", {"renamed": "a"}),
    ],
)
def test_read(query: str, fields: dict[str, Any]) -> None:
    assert read(query) == Everything(**fields)


def test_json_values() -> None:
    message = read('fields={"a":[1]}&anything=[null]')
    assert list(message.fields["a"]) == [1]
    assert message.anything.list_value.values[0].HasField("null_value")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("text=a&text=b", 'too many values for field "text": a, b'),
        ("maybe_text=a&maybeText=b", 'duplicate field "maybe_text"'),
        ("by_text[a]=1&byText[a]=2", 'duplicate field "by_text[a]"'),
        ("by_text[a]=1&by_text[a]=2", ('more than one value provided for key "a" in map '
         '"gpupods.testing.kinds.v1.Everything.by_text"')),
        ("by_number[x]=1", ('parsing map key "by_number": strconv.ParseUint: parsing "x": '
         "invalid syntax")),
        ("by_number[1]=x", ('parsing map value "by_number": strconv.ParseBool: parsing "x": '
         "invalid syntax")),
        ("words[a]=1", 'field "words" is not a map'),
        ("text.a=1", 'invalid path: "text" is not a message'),
        ("children.text=1", 'invalid path: "children" is not a message'),
        ("child=a", ('parsing field "child": unsupported message type: '
         '"gpupods.testing.kinds.v1.Everything"')),
        ("numbers=1&numbers=x", ('parsing list "numbers": strconv.ParseUint: parsing "x": '
         "invalid syntax")),
        ("chosen_text=a&chosen_number=1", 'field already set for oneof "choice"'),
        ("kind=9", 'parsing field "kind": "9" is not a valid value'),
        ("empty=x", 'parsing field "empty": expected an empty value or "{}", got "x"'),
    ],
)  # fmt: skip
def test_refused(query: str, says: str) -> None:
    assert refusal(query) == says


@pytest.mark.parametrize(
    "query", ["anything=NaN", "anything=1e400", "anything={", "anything=1 2", "fields=[]",
              'fields={"a":1,"a":2}', "anything=" + "[" * 100_000]
)  # fmt: skip
def test_json_that_is_none(query: str) -> None:
    assert refusal(query).startswith("parsing field ")


@pytest.mark.parametrize(
    "query", ["text=%ff", "words=a&words=%ff", "by_text[%ff]=a", "by_text[a]=%ff", "mask=%ff"]
)
def test_strings_that_are_not_utf8(query: str) -> None:
    with pytest.raises(UnencodableError, match="invalid UTF-8"):
        read(query)


def test_what_cannot_be_read_is_told_before_what_cannot_be_encoded() -> None:
    assert "strconv.ParseUint" in refusal("text=%ff&u32=x")


@pytest.mark.parametrize("query", ["%ff=1", "child.%ff=1", "x=%ff"])
def test_unknown_names_may_be_any_bytes(query: str) -> None:
    read(query)


@pytest.mark.parametrize(
    ("query", "bound", "text"),
    [
        ("text=a", ("text",), ""),
        ("text=a", ("child", "text"), "a"),
        ("child.text=a&text=b", ("child",), "b"),
        ("child=not+a+message&text=b", ("child", "text"), "b"),
    ],
)
def test_what_path_and_body_fill_the_query_may_not(query: str, bound: Path, text: str) -> None:
    message = read(query, bound)
    assert message.text == text
    assert not message.child.text or bound != ("child",)


@given(st.dictionaries(st.sampled_from([*FIELDS, "x", "child.text", "by_text[a]"]), st.text()))
def test_any_text_is_read_or_refused(values: dict[str, str]) -> None:
    query = "&".join(f"{name}={quote_plus(text)}" for name, text in values.items())
    try:
        read(query)
    except BadRequestError as error:
        assert str(error)  # noqa: PT017


@given(st.binary())
def test_any_query_is_read_or_refused(query: bytes) -> None:
    try:
        populate_from_query(pb.GetGpuPodsRequest(), parse_form(query), ())
    except (BadRequestError, UnencodableError) as error:
        assert str(error)  # noqa: PT017


def test_path_variables() -> None:
    message = Everything()
    variables = {"child.text": "a/b", "u32": "3", "kind": "KIND_TWO", "numbers": "1,2", "at": ""}
    variables["at"] = "1970-01-01T00:00:05Z"
    populate_from_path(message, variables)
    wanted = Everything(child={"text": "a/b"}, u32=3, kind=2, numbers=[1, 2], at={"seconds": 5})
    assert message == wanted


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("u32", "x", 'strconv.ParseUint: parsing "x": invalid syntax'),
        ("numbers", "1,x", 'strconv.ParseUint: parsing "x": invalid syntax'),
        ("kind", "NO", "NO is not valid"),
        ("child.u32", "x", 'parsing field "u32": strconv.ParseUint: parsing "x": invalid syntax'),
    ],
)
def test_path_variables_that_cannot_be_read(name: str, text: str, says: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        populate_from_path(Everything(), {name: text})
    assert str(caught.value) == f"type mismatch, parameter: {name}, error: {says}"
