"""What both are asked of KindsService: every kind of field, and every shape of binding."""

from __future__ import annotations

from urllib.parse import quote

from tests.realparts.go.gateway.questions import FORM, Question, lines
from tests.unit.controller.http.raw_http import Request

JSON = ("Content-Type", "application/json")

FIELDS = lines("fields")
VALUES = (*lines("values"), "\x00", "\udcff")

_JSON_FIELDS = frozenset(("fields", "anything", "list"))

QUERIES = (
    *(Question(query, Request(f"/v1/echo?{query}")) for query in lines("queries")),
    Question(
        "any-that-does-not-parse",
        Request("/v1/echo?any.type_url=x/google.protobuf.Duration&any.value=AAA"),
        wording=False,
    ),
)

BINDINGS = (
    *(Question(target, Request(target)) for target in lines("targets")),
    Question("DELETE", Request("/v1/things/a?u32=3", "DELETE")),
    Question("custom-LOCK", Request("/v1/things/a?u32=3", "LOCK")),
    Question("custom-UNLOCK", Request("/v1/things/a", "UNLOCK")),
    Question("PUT-where-DELETE", Request("/v1/things/a", "PUT")),
    Question("POST-stream", Request("/v1/watch", "POST")),
    Question("POST-verb", Request("/v1/verb/a:evict", "POST", (JSON,), b'{"text":"b","u32":4}')),
    Question("form-as-body", Request("/v1/echo", "POST", (FORM,), b"text=a"), wording=False),
    Question("form-PUT", Request("/v1/words/x", "PUT", (FORM,), b"words=a"), wording=False),
    Question(
        "form-override",
        Request("/v1/echo", "POST", (FORM, ("X-HTTP-Method-Override", "GET")), b"words=a"),
    ),
)

BODIES = (
    *(line.encode() for line in lines("bodies")),
    b"  ",
    b"\xef\xbb\xbf{}",
    b'{"text":"\xff"}',
)

_BODY_TARGETS = (
    ("POST", "/v1/echo?text=query"),
    ("PATCH", "/v1/echo"),
    ("PUT", "/v1/child?text=query&child.text=query"),
    ("PUT", "/v1/words/name?text=query&words=query&u32=4"),
)


def with_body(body: bytes) -> list[Question]:
    """The same body sent to a whole message, to a message's field and to a list's.

    What is wrong with it the two say in the words of their JSON parsers.
    """
    return [
        Question(f"{method} {target}", Request(target, method, (JSON,), body), wording=False)
        for method, target in _BODY_TARGETS
    ]


def with_values(field: str) -> list[Question]:
    """One query parameter for each value.

    A field that takes JSON is not asked about bytes that are no UTF-8: Go's parser repeats them
    in its message, which then cannot be sent.
    """
    is_json = field in _JSON_FIELDS
    return [
        _with_value(field, value, wording=not is_json)
        for value in VALUES
        if not (is_json and value == "\udcff")
    ]


def _with_value(field: str, value: str, *, wording: bool) -> Question:
    escaped = quote(value.encode("utf-8", "surrogateescape"))
    return Question(f"{field}={escaped}", Request(f"/v1/echo?{field}={escaped}"), wording)
