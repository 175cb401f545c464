"""worker_id as a node agent reads it: what is taken, and what is refused with which words."""

from __future__ import annotations

import json

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.errors import StatusError
from nodeagent.pod_map import parse_pod_map

ID = "a" * 64


def refusal(worker_id: str) -> str:
    with pytest.raises(StatusError) as caught:
        parse_pod_map(worker_id)
    assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT
    assert len(caught.value.message) < 600
    assert caught.value.message.isprintable()
    return caught.value.message


def test_empty_means_no_map() -> None:
    assert parse_pod_map("") is None


def test_an_empty_object_is_a_map_of_no_pods() -> None:
    assert parse_pod_map("{}") == {}


def test_scheme_is_stripped() -> None:
    assert parse_pod_map(json.dumps({f"containerd://{ID}": "web"})) == {ID: "web"}


def test_a_name_where_json_belongs() -> None:
    message = refusal("default/web-0")
    assert "JSON object {containerID: pod name}" in message
    assert "ask the controller" in message


@pytest.mark.parametrize("worker_id", ["[]", '"web"', "1", "null", "true", '[["a", "b"]]'])
def test_json_that_is_no_object(worker_id: str) -> None:
    assert "JSON of another kind" in refusal(worker_id)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, "int"),
        (None, "NoneType"),
        ({"a": "b"}, "an object"),
        (["x"], "an object"),
        (True, "bool"),
    ],
)
def test_values_that_are_no_strings(value: object, kind: str) -> None:
    assert f"is {kind}, not a string" in refusal(json.dumps({ID: value}))


@pytest.mark.parametrize("pod", ["", "a\nb", "\ud800", "\x00"])
def test_pod_names_that_cannot_be(pod: str) -> None:
    assert "empty or has control characters" in refusal(json.dumps({ID: pod}))


@pytest.mark.parametrize("container", ["", "containerd://", "a\x07", "\ud800"])
def test_container_ids_that_cannot_be(container: str) -> None:
    assert "is no container id" in refusal(json.dumps({container: "web"}))


def test_duplicate_keys() -> None:
    assert "in the map twice" in refusal(f'{{"{ID}": "web", "{ID}": "db"}}')
    assert "in the map twice" in refusal(f'{{"{ID}": "web", "containerd://{ID}": "web"}}')


def test_one_megabyte_of_nonsense_is_not_repeated() -> None:
    assert "(1048576 characters)" in refusal("x" * 1024 * 1024)


def test_deep_nesting() -> None:
    assert "nested too deeply" in refusal("[" * 100_000)


def test_fifty_thousand_entries() -> None:
    pods = {f"{number:064x}": f"pod-{number}" for number in range(50_000)}
    assert parse_pod_map(json.dumps(pods)) == pods


ids = st.text("0123456789abcdef", min_size=64, max_size=64)
names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


@given(st.dictionaries(ids, names))
def test_every_map_comes_back(pods: dict[str, str]) -> None:
    assert parse_pod_map(json.dumps(pods)) == pods


@given(st.text())
def test_any_text_is_a_map_or_a_clear_refusal(text: str) -> None:
    try:
        parse_pod_map(text)
    except StatusError as error:
        assert error.code is grpc.StatusCode.INVALID_ARGUMENT  # noqa: PT017
        error.message.encode()
