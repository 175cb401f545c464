"""The controller's HTTP side answers as the real grpc-gateway: both stand before one gRPC server.

Each question goes to both; status, body, content type and the headers that carry meaning are
compared. Where they were found to differ, ours was changed; what differs still is in the tests at
the end, with its reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.realparts.go.gateway import kind_questions, questions
from tests.realparts.go.gateway.questions import Question
from tests.realparts.go.gateway.running import gateway
from tests.unit.controller.http.raw_grpc import trailers_only
from tests.unit.controller.http.raw_http import Request, Response, ask
from tests.unit.controller.http.serving import serving

# The first run builds the gateway.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

ALL_OF_GPU_PODS = (
    *questions.PARAMETERS,
    *questions.NUMBERS_AND_BOOLS,
    *questions.PATHS,
    *questions.METHODS,
    *questions.FORMS,
    *questions.ERRORS,
    *questions.TIMEOUTS,
    *questions.HEADERS,
)


@dataclass(frozen=True)
class Sides:
    """The ports of both, before the same gRPC server."""

    theirs: int
    ours: int


@pytest.fixture(scope="module")
def sides() -> Iterator[Sides]:
    with serving() as ports, gateway(ports.grpc) as theirs:
        yield Sides(theirs, ports.http)


@pytest.mark.parametrize("question", ALL_OF_GPU_PODS, ids=lambda question: question.name)
def test_gpu_pods(sides: Sides, question: Question) -> None:
    _compare(sides, [question])


@pytest.mark.parametrize("field", kind_questions.FIELDS)
def test_every_value_of_a_parameter(sides: Sides, field: str) -> None:
    _compare(sides, kind_questions.with_values(field))


@pytest.mark.parametrize("question", kind_questions.QUERIES, ids=lambda question: question.name)
def test_queries_of_every_shape(sides: Sides, question: Question) -> None:
    _compare(sides, [question])


@pytest.mark.parametrize("question", kind_questions.BINDINGS, ids=lambda question: question.name)
def test_bindings_of_every_shape(sides: Sides, question: Question) -> None:
    _compare(sides, [question])


@pytest.mark.parametrize(
    "body", kind_questions.BODIES, ids=lambda body: ascii(body.decode("latin"))
)
def test_bodies(sides: Sides, body: bytes) -> None:
    _compare(sides, kind_questions.with_body(body))


@pytest.mark.parametrize(
    "trailers",
    [
        {"grpc-status": "5", "grpc-message": "a%C3%BC%zz"},
        {"grpc-status": "5", "grpc-status-details-bin": "AAAA"},
        {"grpc-status": "16", "grpc-message": 'Bearer realm="x"'},
        {"grpc-status": "16", "grpc-message": "a%0Ab%C3%BC"},
        {"grpc-status": "0"},
    ],
    ids=str,
)
def test_raw_trailers(trailers: dict[str, str]) -> None:
    with trailers_only(trailers) as port, serving(port) as ports, gateway(port) as theirs:
        _compare(Sides(theirs, ports.http), [Question("raw", Request("/gpu-pods"))])


@pytest.mark.parametrize("code", ["17", "99"])
def test_codes_out_of_range_give_the_same_http_status(code: str) -> None:
    # grpcio makes UNKNOWN of a code that it does not know, grpc-go keeps the number.
    raw = trailers_only({"grpc-status": code})
    with raw as port, serving(port) as ports, gateway(port) as theirs:
        answers = [ask(side, Request("/gpu-pods")) for side in (theirs, ports.http)]
    assert [answer.status for answer in answers] == [500, 500]
    assert [_body(answer)["code"] for answer in answers] == [int(code), 2]


def test_nobody_behind_it() -> None:
    with serving(1) as ports, gateway(1) as theirs:
        answers = [ask(side, Request("/gpu-pods")) for side in (theirs, ports.http)]
    assert [answer.status for answer in answers] == [503, 503]
    assert [_body(answer)["code"] for answer in answers] == [14, 14]
    assert [answer.headers["Content-Type"] for answer in answers] == ["application/json"] * 2


# Where ours is otherwise on purpose.


@pytest.mark.parametrize(
    "target",
    ["/%zz", "gpu-pods", "/gpu-pods?worker_id=a b", "/gpu-pods?worker_id=a\x7f", "?worker_id=a"],
)
def test_what_is_no_request_is_refused_in_json_here(sides: Sides, target: str) -> None:
    theirs, ours = (ask(side, Request(target)) for side in (sides.theirs, sides.ours))
    assert theirs.status == ours.status == 400
    assert theirs.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert ours.headers["Content-Type"] == "application/json"
    assert _body(ours)["code"] == 3


def test_an_unknown_method_is_501_at_every_path_here(sides: Sides) -> None:
    # aiohttp refuses the method before it has read the path.
    theirs, ours = (ask(side, Request("/nothing", "FOO")) for side in (sides.theirs, sides.ours))
    assert (theirs.status, ours.status) == (404, 501)


@pytest.mark.parametrize("headers", [(), (("Grpc-Timeout", "0S"),)])
def test_every_call_has_a_deadline_here(sides: Sides, headers: tuple[tuple[str, str], ...]) -> None:
    request = Request("/gpu-pods?worker_id=deadline", headers=headers)
    answers = [ask(side, request) for side in (sides.theirs, sides.ours)]
    assert [_body(answer)["nodeName"] for answer in answers] == ["none", "some"]


@pytest.mark.parametrize("before", [0, 1])
def test_a_stream_whose_error_cannot_be_shown_ends_with_one_here(sides: Sides, before: int) -> None:
    request = Request(f"/v1/watch?u32={before}&text=unknown-details")
    theirs, ours = (ask(side, request) for side in (sides.theirs, sides.ours))
    assert len(theirs.body.splitlines()) == before
    last = json.loads(ours.body.splitlines()[before])
    assert last == {"error": {"code": 13, "message": "failed to marshal error message"}}


def test_trailing_metadata_is_not_sent_on_here(sides: Sides) -> None:
    # aiohttp writes no HTTP trailers; hardly a client asks for them.
    request = Request("/gpu-pods?worker_id=headers%20x", headers=(("TE", "trailers"),))
    theirs, ours = (ask(side, request) for side in (sides.theirs, sides.ours))
    assert theirs.headers["Trailer"] == "Grpc-Trailer-X-Last"
    assert ours.headers["Trailer"] is None
    assert _told(theirs, wording=True)["body"] == _told(ours, wording=True)["body"]


def _compare(sides: Sides, asked: list[Question]) -> None:
    """All of them are asked; the failure lists each that was answered differently."""
    differ = []
    for question in asked:
        theirs = _told(ask(sides.theirs, question.request), wording=question.wording)
        ours = _told(ask(sides.ours, question.request), wording=question.wording)
        if theirs != ours:
            differ.append({"asked": question.name, "theirs": theirs, "ours": ours})
    assert not differ


def _told(answer: Response, *, wording: bool) -> dict[str, Any]:
    """What an answer says, without what Go does at random and what names the gRPC library."""
    body = _body(answer)
    if isinstance(body, dict):
        if not wording and "code" in body:
            del body["message"]
        if isinstance(body.get("missing"), list):
            body["missing"] = [part for part in body["missing"] if part["subject"] != "user-agent"]
    return {
        "status": answer.status,
        "content-type": answer.headers["Content-Type"],
        "headers": _meaningful(answer),
        "body": body,
    }


def _body(answer: Response) -> Any:
    """The JSON, or a list of the lines' JSON, or bytes; numbers as JSON has them, of one kind."""
    text = answer.body.decode().replace("\u00a0", " ")  # Go's protobuf puts either, by build
    if answer.headers["Content-Type"] != "application/json" or not text:
        return answer.body
    lines = text.splitlines() if re.search(r"\}\n.", text) else [text]
    values = [json.loads(line, parse_int=float) for line in lines]
    return values if len(values) > 1 else values[0]


def _meaningful(answer: Response) -> list[tuple[str, str]]:
    """Metadata and what belongs to a status; what a gRPC library says of itself left out."""
    told = {
        (name.lower(), value)
        for name, value in answer.headers.items()
        if name.lower().startswith("grpc-")
        or name.lower() in ("www-authenticate", "trailer", "allow", "location")
    }
    return sorted(
        (name, value) for name, value in told if name != "grpc-metadata-grpc-accept-encoding"
    )
