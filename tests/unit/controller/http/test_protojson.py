from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf import any_pb2, descriptor_pb2, duration_pb2, json_format, struct_pb2
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from controller.http import protojson
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.unit.controller.http.kinds import Everything

TYPES: Any = st.integers(0, 5)
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
UINT32 = st.integers(0, (1 << 32) - 1)
UINT64 = st.integers(0, (1 << 64) - 1)
FLOATS = st.floats(-(2.0**127), 2.0**127, width=32) | st.sampled_from((math.inf, math.nan))
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


def shown(message: Message) -> Any:
    return json.loads(protojson.to_json(message))


def without_nulls(value: Any) -> Any:
    """json_format leaves out what is null here."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@st.composite
def rows(draw: st.DrawFn) -> pb.PidPods:
    row = pb.PidPods(
        pid=draw(UINT32),
        processName=draw(TEXT),
        UsedGpuMemory=draw(UINT64),
        pod=draw(TEXT),
        types=draw(st.lists(TYPES)),
        memory_known=draw(st.booleans()),
    )
    if draw(st.booleans()):
        row.owner.kind = draw(TEXT)
    if draw(st.booleans()):
        row.start_time.seconds = draw(st.integers(-62135596800, 253402300799))
        row.start_time.nanos = draw(st.integers(0, 999_999_999))
    return row


@st.composite
def answers(draw: st.DrawFn) -> pb.GetGpuPodsResponse:
    answer = pb.GetGpuPodsResponse(node_name=draw(TEXT))
    for uuid, of_gpu in draw(st.dictionaries(TEXT, st.lists(rows(), max_size=3))).items():
        answer.GpuPods[uuid].pidPods.extend(of_gpu)
    for uuid in draw(st.sets(TEXT)):
        answer.GpuInfos[uuid].memory_total = draw(UINT64)
    return answer


@given(answers())
def test_an_answer_reads_as_json_format_writes_it(answer: pb.GetGpuPodsResponse) -> None:
    wanted = json_format.MessageToDict(answer, always_print_fields_with_no_presence=True)
    assert without_nulls(shown(answer)) == wanted


@given(answers())
def test_an_answer_is_read_back(answer: pb.GetGpuPodsResponse) -> None:
    back = json_format.Parse(protojson.to_json(answer), pb.GetGpuPodsResponse())
    assert back == answer


@st.composite
def everything(draw: st.DrawFn, depth: int = 1) -> Any:
    message = Everything(
        i64=draw(INT64),
        single=draw(FLOATS),
        double_width=draw(st.floats(allow_nan=False) | st.just(math.nan)),
        blob=draw(st.binary()),
        words=draw(st.lists(TEXT)),
        large_numbers=draw(st.lists(UINT64)),
        singles=draw(st.lists(FLOATS, max_size=3)),
        by_text=draw(st.dictionaries(TEXT, TEXT)),
        by_number=draw(st.dictionaries(UINT64, st.booleans())),
        by_truth=draw(st.dictionaries(st.booleans(), INT64)),
    )
    if draw(st.booleans()):
        message.maybe_text = draw(TEXT)
        message.wrapped_u64.value = draw(UINT64)
        message.lasts.seconds = draw(st.integers(0, 315576000000))
        message.lasts.nanos = draw(st.integers(0, 999_999_999))
    if draw(st.booleans()):
        message.chosen_number = draw(UINT32)
    if depth:
        for key in draw(st.sets(TEXT, max_size=2)):
            message.child_by_text[key].CopyFrom(draw(everything(depth=depth - 1)))
    return message


@given(everything())
def test_a_message_of_every_kind_is_read_back(message: Any) -> None:
    back = json_format.Parse(protojson.to_json(message), Everything())
    _forget_values(back)
    # NaN is unequal to itself, but its bytes are the same
    assert back.SerializeToString(deterministic=True) == message.SerializeToString(
        deterministic=True
    )


def _forget_values(message: Any) -> None:
    """For json_format the null of a Value that is not set is a Value: null."""
    message.ClearField("anything")
    for child in message.child_by_text.values():
        _forget_values(child)


def test_unpopulated_fields_are_there() -> None:
    assert shown(pb.GetGpuPodsResponse()) == {
        "GpuPods": {},
        "GpuInfos": {},
        "nodeName": "",
        "sampleTime": None,
        "unattributed": {},
        "missing": [],
    }


def test_members_of_oneofs_only_where_they_are_set() -> None:
    empty = shown(Everything())
    assert "chosenText" not in empty
    assert "maybeText" not in empty
    filled = shown(Everything(chosen_text="", maybe_text="", maybe_number=0))
    assert (filled["chosenText"], filled["maybeText"], filled["maybeNumber"]) == ("", "", 0)


def test_fields_stand_in_the_order_of_the_proto_and_keys_are_sorted() -> None:
    message = Everything(by_number={10: True, 9: False, 100: True}, by_truth={True: 1, False: 2})
    text = protojson.to_json(message).decode()
    assert '"byNumber":{"9":false,"10":true,"100":true}' in text
    assert '"byTruth":{"false":"2","true":"1"}' in text
    assert text.startswith('{"text":"","truth":false,"i32":0')


def test_text_is_utf8_and_control_characters_are_escaped() -> None:
    written = protojson.to_json(pb.Owner(kind='日\u2028<&>"\\\n\x01\x7f')).decode()
    assert written == '{"kind":"日\u2028<&>\\"\\\\\\n\\u0001\x7f","name":""}'


def test_numbers_beyond_53_bits_are_strings() -> None:
    assert shown(pb.PidPods(UsedGpuMemory=(1 << 64) - 1))["UsedGpuMemory"] == "18446744073709551615"


def test_an_enum_number_without_a_name_stays_a_number() -> None:
    assert shown(pb.PidPods(types=[1, 77]))["types"] == ["PROCESS_TYPE_COMPUTE", 77]  # type: ignore[list-item]
    assert shown(Everything(kind=1))["kind"] == "KIND_ONE"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.1, "0.1"),
        (16777216.0, "16777216.0"),
        (3.4028234663852886e38, "3.4028235e+38"),
        (1.401298464324817e-45, "1e-45"),
        (-0.0, "-0.0"),
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
        (math.nan, '"NaN"'),
    ],
)
def test_floats_in_the_fewest_digits(value: float, written: str) -> None:
    number = json.loads(written)
    assert shown(Everything(single=value))["single"] == number


@pytest.mark.parametrize(
    ("seconds", "nanos", "written"),
    [
        (0, 0, "1970-01-01T00:00:00Z"),
        (1, 500_000_000, "1970-01-01T00:00:01.500Z"),
        (1, 500_000, "1970-01-01T00:00:01.000500Z"),
        (1, 5, "1970-01-01T00:00:01.000000005Z"),
        (-1, 1, "1969-12-31T23:59:59.000000001Z"),
        (-62135596800, 0, "0001-01-01T00:00:00Z"),
        (253402300799, 999_999_999, "9999-12-31T23:59:59.999999999Z"),
    ],
)
def test_timestamps(seconds: int, nanos: int, written: str) -> None:
    message = Everything()
    message.at.seconds, message.at.nanos = seconds, nanos
    assert shown(message)["at"] == written


@pytest.mark.parametrize(
    ("seconds", "nanos", "written"),
    [(0, 0, "0s"), (3, 500_000_000, "3.500s"), (-3, -1, "-3.000000001s"), (0, -1000, "-0.000001s")],
)
def test_durations(seconds: int, nanos: int, written: str) -> None:
    assert shown(duration_pb2.Duration(seconds=seconds, nanos=nanos)) == written


def test_wrappers_any_and_the_rest_of_the_well_known_types() -> None:
    message = Everything()
    message.wrapped_u64.value = 5
    message.wrapped_truth.value = False
    message.any.Pack(duration_pb2.Duration(seconds=3))
    message.fields.update({"a": [1, None]})
    message.anything.number_value = 0.5
    message.list.extend(["x", 2])
    message.mask.paths.extend(["a.b_c", "d"])
    message.empty.SetInParent()
    written = shown(message)
    assert written["wrappedU64"] == "5"
    assert written["wrappedTruth"] is False
    assert written["any"] == {
        "@type": "type.googleapis.com/google.protobuf.Duration",
        "value": "3s",
    }
    assert written["fields"] == {"a": [1, None]}
    assert (written["anything"], written["list"]) == (0.5, ["x", 2])
    assert (written["mask"], written["empty"], written["null"]) == ("a.bC,d", {}, None)


def test_any_of_a_plain_message_shows_its_fields() -> None:
    packed = any_pb2.Any()
    packed.Pack(pb.Owner(kind="Job"))
    type_url = "type.googleapis.com/gpupods.v1alpha1.Owner"
    assert shown(packed) == {"@type": type_url, "kind": "Job", "name": ""}
    assert shown(any_pb2.Any()) == {}


UNSHOWABLE: Mapping[str, Mapping[str, object]] = {
    "year 10000": {"at": {"seconds": 253402300800}},
    "nanos of a timestamp": {"at": {"nanos": -1}},
    "long duration": {"lasts": {"seconds": 315576000001}},
    "signs of a duration": {"lasts": {"seconds": 1, "nanos": -1}},
    "nanos of a duration": {"lasts": {"nanos": 1_000_000_000}},
    "any without type": {"any": {"value": b"x"}},
    "any of unknown type": {"any": {"type_url": "x/y.Z"}},
    "any that does not parse": {
        "any": {"type_url": "x/google.protobuf.Duration", "value": b"\xff"}
    },
    "path of a mask": {"mask": {"paths": ["a b"]}},
    "mask that cannot be turned back": {"mask": {"paths": ["aB"]}},
    "infinite value": {"anything": struct_pb2.Value(number_value=math.inf)},
}


@pytest.mark.parametrize("name", UNSHOWABLE)
def test_what_json_cannot_show(name: str) -> None:
    with pytest.raises(ValueError, match=r"google\.protobuf|serialize"):
        protojson.to_json(Everything(**UNSHOWABLE[name]))


def test_a_field_named_by_a_word_of_python() -> None:
    assert shown(Everything(**{"from": "here"}))["from"] == "here"


def test_one_field_of_a_message() -> None:
    message = Everything(words=["a"], u64=5)
    assert protojson.field_to_json(message, "words") == b'["a"]'
    assert protojson.field_to_json(message, "u64") == b'"5"'
    assert json.loads(protojson.field_to_json(message, "child")) == shown(Everything())


def test_messages_of_one_field_and_of_none() -> None:
    assert shown(pb.Pods()) == {"pidPods": []}
    assert shown(descriptor_pb2.GeneratedCodeInfo()) == {"annotation": []}
