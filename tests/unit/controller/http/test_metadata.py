from __future__ import annotations

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from controller.http.errors import BadRequestError
from controller.http.metadata import read_timeout_s, to_headers, to_metadata

DEFAULT_S = 7.0


def headers(*pairs: tuple[str, str]) -> CIMultiDictProxy[str]:
    return CIMultiDictProxy(CIMultiDict(pairs))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", DEFAULT_S),
        ("0S", DEFAULT_S),
        ("000m", DEFAULT_S),
        ("1H", 3600.0),
        ("2M", 120.0),
        ("3S", 3.0),
        ("4m", 0.004),
        ("5u", 0.000005),
        ("6n", 0.000000006),
        ("18446744073709551615H", 10 * 365 * 86_400.0),
    ],
)
def test_timeouts(text: str, seconds: float) -> None:
    read = read_timeout_s(headers(("grpc-timeout", text)), DEFAULT_S)
    assert read == pytest.approx(seconds)


def test_no_timeout_is_the_default() -> None:
    assert read_timeout_s(headers(), DEFAULT_S) == DEFAULT_S


@pytest.mark.parametrize(
    "text", ["1", "S", "1s", "-1S", "+1S", "1.5S", "1SS", " 1S", "x", "18446744073709551616S", "٣S"]
)
def test_timeouts_that_cannot_be_read(text: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        read_timeout_s(headers(("Grpc-Timeout", text)), DEFAULT_S)
    assert str(caught.value) == f"invalid grpc-timeout: {text}"


def test_what_is_passed_on() -> None:
    passed = to_metadata(
        headers(
            ("Host", "here:80"),
            ("authorization", "Bearer x"),
            ("USER-AGENT", "curl"),
            ("Grpc-Metadata-Foo", "bar"),
            ("X-Other", "y"),
            ("Connection", "close"),
            ("Referer", "ü"),
        ),
        "192.0.2.1",
    )
    assert sorted(passed) == [
        ("authorization", "Bearer x"),
        ("grpcgateway-authorization", "Bearer x"),
        ("grpcgateway-user-agent", "curl"),
        ("x-forwarded-for", "192.0.2.1"),
        ("x-forwarded-host", "here:80"),
    ]


def test_where_it_came_from_through_proxies() -> None:
    passed = dict(
        to_metadata(
            headers(
                ("Host", "here"),
                ("X-Forwarded-Host", "front"),
                ("X-Forwarded-For", "192.0.2.9, 192.0.2.8"),
                ("X-Forwarded-For", "ü"),
            ),
            "2001:db8::1",
        )
    )
    assert passed["x-forwarded-host"] == "front"
    assert passed["x-forwarded-for"] == "192.0.2.9, 192.0.2.8, 2001:db8::1"


def test_nothing_known_of_where_it_came_from() -> None:
    assert to_metadata(headers(), None) == []


def test_what_comes_back() -> None:
    assert to_headers([("x-seen", "once"), ("raw-bin", b"\x00\xff")]) == [
        ("Grpc-Metadata-Content-Type", "application/grpc"),
        ("Grpc-Metadata-x-seen", "once"),
        ("Grpc-Metadata-raw-bin", "AP8="),
    ]
