"""The whole HTTP side before a real gRPC server, asked over plain sockets."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.controller.http.backend import GPU
from tests.unit.controller.http.raw_http import Request, Response, ask, exchange
from tests.unit.controller.http.serving import Ports, serving

FORM = ("Content-Type", "application/x-www-form-urlencoded")


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    with serving() as running:
        yield running


def body(answer: Response) -> Any:
    assert answer.headers["Content-Type"] == "application/json"
    return json.loads(answer.body)


def test_the_main_question(ports: Ports) -> None:
    answer = ask(ports.http, Request("/gpu-pods?worker_id=ns/pod&max_age_ms=7&only_this_pod=true"))
    assert answer.status == 200
    told = body(answer)
    assert told["nodeName"] == "ns/pod"
    row = told["GpuPods"][GPU]["pidPods"][0]
    assert (row["pid"], row["memoryKnown"]) == (7, True)
    assert row["UsedGpuMemory"] == "18446744073709551615"
    assert row["pod"] == "pöd-日本"
    assert told["sampleTime"] == "2026-11-30T09:10:11.123456Z"


@pytest.mark.parametrize(
    ("request_", "status", "code", "message"),
    [
        (Request("/nothing"), 404, 5, "Not Found"),
        (Request("/gpu-pods/"), 404, 5, "Not Found"),
        (Request("//gpu-pods"), 404, 5, "Not Found"),
        (Request("/gpu-pods", "DELETE"), 501, 12, "Method Not Allowed"),
        (Request("/gpu-pods", "OPTIONS"), 501, 12, "Method Not Allowed"),
        (Request("/gpu-pods", "FOO"), 501, 12, "Method Not Allowed"),
        (Request("*"), 400, 3, "Bad Request"),
        (Request("/%zz"), 400, 3, 'invalid URL escape "%zz"'),
        (Request("/gpu-pods?a;b"), 400, 3, "invalid semicolon separator in query"),
        (Request("/gpu-pods", headers=(("Grpc-Timeout", "x"),)), 400, 3, "invalid grpc-timeout: x"),
        (Request("/gpu-pods?worker_id=%ff"), 500, 13,
         "grpc: error while marshaling: string field contains invalid UTF-8"),
        (Request("/gpu-pods?worker_id=a&worker_id=%ff"), 500, 13,
         "failed to marshal error message"),
        (Request("/gpu-pods?worker_id=fail%205%20gone"), 404, 5, "gone"),
        (Request("/gpu-pods?worker_id=fail%2014%20away"), 503, 14, "away"),
        (Request("/gpu-pods?worker_id=wait", headers=(("Grpc-Timeout", "50m"),)), 504, 4,
         "context deadline exceeded"),
        (Request("/gpu-pods?worker_id=wait", headers=(("Grpc-Timeout", "1n"),)), 504, 4,
         "context deadline exceeded"),
    ],
    ids=lambda value: value.target if isinstance(value, Request) else "",
)  # fmt: skip
def test_refused(ports: Ports, request_: Request, status: int, code: int, message: str) -> None:
    answer = ask(ports.http, request_)
    assert answer.status == status
    told = body(answer)
    assert (told["code"], told["message"]) == (code, message)


def test_head_has_no_body(ports: Ports) -> None:
    answer = ask(ports.http, Request("/gpu-pods", "HEAD"))
    assert (answer.status, answer.body) == (501, b"")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize(("method", "text"), [("GET", b"ok\n"), ("HEAD", b"")])
def test_health(ports: Ports, path: str, method: str, text: bytes) -> None:
    answer = ask(ports.http, Request(path, method))
    assert (answer.status, answer.body) == (200, text)
    assert ask(ports.http, Request(path, "POST")).status == 404


def test_a_posted_form_stands_for_a_get(ports: Ports) -> None:
    answer = ask(ports.http, Request("/gpu-pods?max_age_ms=2", "POST", (FORM,), b"worker_id=a+b"))
    assert body(answer)["nodeName"] == "a b"


def test_a_body_is_asked_for_if_the_client_waits_to_send_it(ports: Ports) -> None:
    head = (
        b"POST /gpu-pods HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nConnection: close\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 11\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", ports.http), timeout=20) as connection:
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"worker_id=a")
        assert connection.recv(12) == b"HTTP/1.1 200"


def test_a_form_of_more_than_10_mib_is_refused(ports: Ports) -> None:
    sent = Request("/gpu-pods", "POST", (FORM,), b"worker_id=" + b"a" * (10 << 20))
    told = body(ask(ports.http, sent))
    assert (told["code"], told["message"]) == (3, "http: POST too large")


def test_a_query_of_nearly_a_mebibyte_is_passed_on(ports: Ports) -> None:
    name = "a" * ((1 << 20) - 100)
    assert body(ask(ports.http, Request(f"/gpu-pods?worker_id={name}")))["nodeName"] == name


def test_a_longer_request_line_is_refused(ports: Ports) -> None:
    answer = ask(ports.http, Request("/gpu-pods?worker_id=" + "a" * ((1 << 20) + 100)))
    assert answer.status == 431
    assert body(answer)["code"] == 3


@pytest.mark.parametrize(
    "sent",
    [
        b"garbage\r\n\r\n",
        b"GET /gpu-pods HTTP/9.9\r\nHost: h\r\n\r\n",
        b"GET /gpu-pods?a b HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /gpu-pods HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /gpu-pods HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
def test_what_is_no_http(ports: Ports, sent: bytes) -> None:
    answer = exchange(ports.http, sent)
    assert 400 <= answer.status <= 501
    assert set(body(answer)) == {"code", "message", "details"}


def test_raw_non_ascii_targets_on_one_connection(ports: Ports) -> None:
    request = "GET /gpu-pods?worker_id=pöd HTTP/1.1\r\nHost: ü\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", ports.http), timeout=20) as connection:
        for _ in range(2):
            connection.sendall(request)
            received = b""
            while not received.endswith(b"}]}"):
                received += connection.recv(65536)
            assert '"nodeName":"pöd"'.encode() in received


def test_a_stream_is_a_line_for_each_message(ports: Ports) -> None:
    answer = ask(ports.http, Request("/v1/watch?u32=3"))
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert [line["result"]["u32"] for line in lines] == [0, 1, 2]


def test_a_streams_error_is_its_last_line(ports: Ports) -> None:
    answer = ask(ports.http, Request("/v1/watch?u32=1&text=5%20gone"))
    assert answer.status == 200
    last = json.loads(answer.body.splitlines()[-1])
    assert last["error"]["code"] == 5
    at_once = ask(ports.http, Request("/v1/watch?text=5%20gone"))
    assert at_once.status == 404
    assert json.loads(at_once.body)["error"]["message"] == "gone"


def test_metadata_of_the_answer_becomes_headers(ports: Ports) -> None:
    answer = ask(ports.http, Request("/gpu-pods?worker_id=headers%20twice"))
    assert answer.headers.get_all("Grpc-Metadata-x-seen") == ["once", "twice"]


def test_the_callers_authorization_reaches_the_server(ports: Ports) -> None:
    request = Request("/gpu-pods?worker_id=metadata", headers=(("Authorization", "Bearer x"),))
    pairs = {part["subject"]: part["reason"] for part in body(ask(ports.http, request))["missing"]}
    assert pairs["authorization"] == "Bearer x"
    assert pairs["x-forwarded-for"] == "127.0.0.1"


def test_an_answer_that_json_cannot_show(ports: Ports) -> None:
    answer = ask(ports.http, Request("/v1/echo?at.seconds=999999999999"))
    assert answer.status == 500
    assert body(answer)["message"].startswith("proto: google.protobuf.Timestamp: seconds")


@pytest.mark.parametrize("code", [401, 200])
def test_unauthenticated_says_how_to_authenticate(ports: Ports, code: int) -> None:
    target = "/gpu-pods?worker_id=" + ("fail%2016%20Bearer" if code == 401 else "a")
    answer = ask(ports.http, Request(target))
    assert answer.status == code
    assert answer.headers["WWW-Authenticate"] == ("Bearer" if code == 401 else None)
