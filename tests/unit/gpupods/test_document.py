"""The JSON of -o json is that of the HTTP side, and the YAML says the same."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controller.http.protojson import to_json
from gpupods.cli.output.document import as_json, as_yaml
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.unit.gpupods.answers import busy_node, hostile, partial

ANSWERS = [busy_node, partial, hostile, pb.GetGpuPodsResponse]


@pytest.mark.parametrize("make", ANSWERS)
def test_json_is_that_of_the_http_side(make: Callable[[], pb.GetGpuPodsResponse]) -> None:
    pairs = [
        json.loads(text, object_pairs_hook=list) for text in (as_json(make()), to_json(make()))
    ]
    assert pairs[0] == pairs[1]  # the order of the fields too


@pytest.mark.parametrize("make", ANSWERS)
def test_yaml_says_the_same(make: Callable[[], pb.GetGpuPodsResponse]) -> None:
    assert yaml.safe_load(as_yaml(make())) == json.loads(as_json(make()))


def test_numbers_of_64_bits_are_texts_and_unset_messages_null() -> None:
    row = json.loads(as_json(pb.PidPods(UsedGpuMemory=2**64 - 1)))
    assert row["UsedGpuMemory"] == "18446744073709551615"
    assert row["owner"] is None
    assert row["pid"] == 0
    assert row["types"] == []


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_and_none_steers_the_terminal(text: str) -> None:
    message = pb.GetGpuPodsResponse(node_name=text)
    for written, read in ((as_json(message), json.loads), (as_yaml(message), yaml.safe_load)):
        assert read(written)["nodeName"] == text
        assert written.replace("\n", "").isprintable()
