from __future__ import annotations

import json

import grpc
import pytest
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from controller.http.errors import HttpError, http_error, http_status, rpc_error

HTTP_STATUS = {
    0: 200, 1: 499, 2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409,
    11: 400, 12: 501, 13: 500, 14: 503, 15: 500, 16: 401, 17: 500, 99: 500,
}  # fmt: skip


def failed(
    code: grpc.StatusCode, message: str, *details: bytes, key: str = "grpc-status-details-bin"
) -> HttpError:
    trailers = grpc.aio.Metadata(*((key, value) for value in details))
    return rpc_error(grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailers, message, None))


@pytest.mark.parametrize(("code", "status"), HTTP_STATUS.items())
def test_every_code_has_its_http_status(code: int, status: int) -> None:
    assert http_status(code) == status


def test_the_body() -> None:
    error = failed(grpc.StatusCode.NOT_FOUND, 'no pod "ü"\n')
    assert error.http_status == 404
    assert error.body == '{"code":5,"message":"no pod \\"ü\\"\\n","details":[]}'.encode()


def test_details() -> None:
    status = status_pb2.Status(code=3, message="wrong")
    status.details.add().Pack(duration_pb2.Duration(seconds=1))
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason="R", domain="d"))
    error = failed(grpc.StatusCode.INVALID_ARGUMENT, "wrong", status.SerializeToString())
    assert json.loads(error.body) == {
        "code": 3,
        "message": "wrong",
        "details": [
            {"@type": "type.googleapis.com/google.protobuf.Duration", "value": "1s"},
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "R",
                "domain": "d",
                "metadata": {},
            },
        ],
    }


def test_details_of_an_unknown_type_cannot_be_shown() -> None:
    status = status_pb2.Status(code=5, details=[any_pb2.Any(type_url="x/y.Z")])
    error = failed(grpc.StatusCode.NOT_FOUND, "", status.SerializeToString())
    assert error.http_status == 500
    assert json.loads(error.body) == {"code": 13, "message": "failed to marshal error message"}


@pytest.mark.parametrize("details", [(b"\xff",), (b"", b"")])
def test_details_that_are_none_are_passed_over(details: tuple[bytes, ...]) -> None:
    assert json.loads(failed(grpc.StatusCode.NOT_FOUND, "gone", *details).body)["code"] == 5


def test_details_of_another_code_are_an_error_of_their_own() -> None:
    status = status_pb2.Status(code=7, message="another")
    error = failed(grpc.StatusCode.NOT_FOUND, "gone", status.SerializeToString())
    assert (error.http_status, error.code) == (500, 13)
    assert "mismatch: grpc-status=5" in error.message


def test_a_deadline_that_passed_here_is_worded_as_go_words_it() -> None:
    error = failed(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
    assert error.message == "context deadline exceeded"
    assert failed(grpc.StatusCode.DEADLINE_EXCEEDED, "node n").message == "node n"


def test_a_message_with_bytes_that_are_no_utf8_cannot_be_sent() -> None:
    error = http_error(3, "too many values: \udcff")
    assert error.http_status == 500
    assert json.loads(error.body)["message"] == "failed to marshal error message"
