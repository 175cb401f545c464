"""docs/answer.md has every message, field, value, status and reason of the contract."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from controller.http.errors import http_status
from gpupods.errors import Reason
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import health_pb2
from tests.docs.pages import page, rows

PAGE = page("docs/answer.md")
FILES = (pb.DESCRIPTOR, health_pb2.DESCRIPTOR)
MESSAGES = [message for file in FILES for message in file.message_types_by_name.values()]
ENUMS = [enum for file in FILES for enum in file.enum_types_by_name.values()]


def name(descriptor: Any) -> str:
    return str(descriptor.name)


def cells(section: str) -> list[tuple[str, ...]]:
    return [tuple(cell.strip("`") for cell in row) for row in rows(section)]


@pytest.mark.parametrize("message", MESSAGES, ids=name)
def test_the_fields_of_a_message(message: Any) -> None:
    told = [(row[0], row[1], row[2]) for row in cells(PAGE.section(f"`{message.name}`"))]
    real = [(field.name, str(field.number), field.json_name) for field in message.fields]
    assert told == real


@pytest.mark.parametrize("enum", ENUMS, ids=name)
def test_the_values_of_an_enum(enum: Any) -> None:
    told = [(row[0], row[1]) for row in cells(PAGE.section(f"`{enum.name}`"))]
    assert told == [(value.name, str(value.number)) for value in enum.values]


def test_the_http_status_of_each_grpc_status() -> None:
    told = cells(PAGE.section("HTTP and JSON"))
    real = [
        (code.name, str(code.value[0]), str(http_status(code.value[0]))) for code in grpc.StatusCode
    ]
    assert told == real


def test_the_statuses_and_reasons_of_errors() -> None:
    told = [row[0] for row in cells(PAGE.section("When there is no answer"))]
    statuses = {code.name for code in grpc.StatusCode}
    assert {each for each in told if each not in statuses} == {reason.value for reason in Reason}


def test_numbers_that_are_strings_in_json_are_named() -> None:
    wide = {
        field.json_name
        for message in MESSAGES
        for field in message.fields
        if field.type == field.TYPE_UINT64
    }
    assert wide <= set(PAGE.code())
