"""The controller's own gRPC server cannot be reached, or hangs: an answer in JSON all the same."""

from __future__ import annotations

import json

from tests.unit.controller.http.raw_grpc import trailers_only
from tests.unit.controller.http.raw_http import Request, ask
from tests.unit.controller.http.serving import serving

NOBODY_LISTENS = 1


def test_nobody_listens() -> None:
    with serving(NOBODY_LISTENS) as ports:
        answer = ask(ports.http, Request("/gpu-pods?worker_id=a"))
    assert answer.status == 503
    assert json.loads(answer.body)["code"] == 14


def test_it_ends_the_call_without_an_answer() -> None:
    with trailers_only({"grpc-status": "0"}) as port, serving(port) as ports:
        answer = ask(ports.http, Request("/gpu-pods?worker_id=a"))
    assert answer.status == 500
    assert "received no response message" in json.loads(answer.body)["message"]


def test_it_sends_a_status_that_nobody_has_defined() -> None:
    with trailers_only({"grpc-status": "99"}) as port, serving(port) as ports:
        answer = ask(ports.http, Request("/gpu-pods?worker_id=a"))
    assert (answer.status, json.loads(answer.body)["code"]) == (500, 2)
