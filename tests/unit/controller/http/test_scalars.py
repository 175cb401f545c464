from __future__ import annotations

import base64
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.http import scalars
from controller.http.errors import BadRequestError, UnencodableError
from tests.unit.controller.http import kinds

KIND = kinds.Everything.DESCRIPTOR.fields_by_name["kind"].enum_type


@given(st.integers(), st.sampled_from((32, 64)))
def test_integers_are_read_if_they_fit(number: int, bits: int) -> None:
    for read, fits in (
        (scalars.read_int, -(1 << (bits - 1)) <= number < 1 << (bits - 1)),
        (scalars.read_uint, 0 <= number < 1 << bits),
    ):
        if fits:
            assert read(str(number), bits) == number
        else:
            with pytest.raises(BadRequestError):
                read(str(number), bits)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("+1", 'strconv.ParseUint: parsing "+1": invalid syntax'),
        ("1_000", 'strconv.ParseUint: parsing "1_000": invalid syntax'),
        ("٣", 'strconv.ParseUint: parsing "٣": invalid syntax'),
        ("a\n\udcff", r'strconv.ParseUint: parsing "a\n\xff": invalid syntax'),
        ("4294967296", 'strconv.ParseUint: parsing "4294967296": value out of range'),
        ("4294967296x", 'strconv.ParseUint: parsing "4294967296x": value out of range'),
        ("429496729x", 'strconv.ParseUint: parsing "429496729x": invalid syntax'),
    ],
)
def test_what_is_wrong_with_a_number(text: str, says: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        scalars.read_uint(text, 32)
    assert str(caught.value) == says


def test_a_million_digits_are_refused_unread() -> None:
    with pytest.raises(BadRequestError, match="out of range"):
        scalars.read_uint("9" * 1_000_000, 64)
    assert scalars.read_uint("0" * 1_000_000 + "7", 64) == 7


@given(st.text())
def test_only_twelve_words_are_booleans(text: str) -> None:
    words = {"1": True, "t": True, "T": True, "TRUE": True, "true": True, "True": True}
    words |= {"0": False, "f": False, "F": False, "FALSE": False, "false": False, "False": False}
    if text in words:
        assert scalars.read_bool(text) is words[text]
    else:
        with pytest.raises(BadRequestError, match=r"strconv\.ParseBool"):
            scalars.read_bool(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_read_back(number: float) -> None:
    assert scalars.read_float(repr(number), 64) == number


@pytest.mark.parametrize("text", ["nan", "inf", "+Infinity", "0x1p-2", "1_0", "1e", ".", "", " 1"])
def test_what_is_no_float(text: str) -> None:
    with pytest.raises(BadRequestError, match="invalid syntax"):
        scalars.read_float(text, 64)


@pytest.mark.parametrize(("text", "bits"), [("1e400", 64), ("3.5e38", 32)])
def test_floats_too_large(text: str, bits: int) -> None:
    with pytest.raises(BadRequestError, match="value out of range"):
        scalars.read_float(text, bits)


def test_floats_that_are_not_finite() -> None:
    assert scalars.read_float("Infinity", 32) == math.inf
    assert scalars.read_float("-Infinity", 64) == -math.inf
    assert math.isnan(scalars.read_float("NaN", 64))


@given(st.binary())
def test_bytes_in_either_alphabet_padded_or_not(value: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(value).decode()
        assert scalars.read_bytes(encoded) == value
        assert scalars.read_bytes(encoded.rstrip("=")) == value


@given(st.text())
def test_any_text_is_bytes_or_refused(text: str) -> None:
    try:
        scalars.read_bytes(text)
    except BadRequestError as error:
        assert "illegal base64 data at input byte" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "number"), [("KIND_ONE", 1), ("KIND_FIRST", 1), ("2", 2), ("-1", -1), ("+1", 1)]
)
def test_an_enum_by_name_alias_or_number(text: str, number: int) -> None:
    assert scalars.read_enum(KIND, text) == number


@pytest.mark.parametrize("text", ["", "kind_one", "7", "\udcff", "1.0", "99999999999"])
def test_what_is_no_value_of_an_enum(text: str) -> None:
    with pytest.raises(BadRequestError, match="is not a valid value"):
        scalars.read_enum(KIND, text)


def test_a_string_that_is_not_utf8() -> None:
    assert scalars.read_string("ü\U0001f600") == "ü\U0001f600"
    with pytest.raises(UnencodableError):
        scalars.read_string("a\udcff")
