"""What grpc-gateway and the controller's HTTP side are both asked of GpuPodsService."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.unit.controller.http.raw_http import Request

FORM = ("Content-Type", "application/x-www-form-urlencoded")
OVERRIDE = "X-HTTP-Method-Override"


@dataclass(frozen=True)
class Question:
    """A request. With ``wording`` False the two may word their error differently."""

    name: str
    request: Request
    wording: bool = True


def lines(name: str) -> list[str]:
    """The lines of ``asked/NAME.txt``, each a case; an empty line is one too."""
    return (Path(__file__).with_name("asked") / f"{name}.txt").read_text().splitlines()


def _get(name: str, target: str | bytes, *headers: tuple[str, str]) -> Question:
    return Question(name, Request(target, headers=headers))


def _query(name: str, query: str) -> Question:
    return _get(name, f"/gpu-pods?{query}")


def _post(name: str, body: bytes, *headers: tuple[str, str], query: str = "") -> Question:
    return Question(name, Request(f"/gpu-pods{query}", "POST", headers, body))


PARAMETERS = (
    _query("proto-name", "worker_id=ns%2Fpod"),
    _query("json-name", "workerId=ns%2Fpod"),
    _query("both-names", "worker_id=a&workerId=b"),
    _query("all-fields", "worker_id=a&only_this_pod=true&max_age_ms=250"),
    _query("all-fields-json-names", "workerId=a&onlyThisPod=1&maxAgeMs=250"),
    _query("repeated-scalar", "worker_id=a&worker_id=b"),
    _query("repeated-thrice-with-escapes", "worker_id=a%0a&worker_id=%22&worker_id=%C3%BC"),
    _query("other-case", "WORKER_ID=a&Worker_Id=b"),
    _query("unknown", "nothing=a"),
    _query("unknown-repeated", "nothing=a&nothing=b"),
    _query("unknown-not-utf8", "nothing=%ff"),
    _query("key-not-utf8", "%ff=1"),
    _query("empty-value", "worker_id="),
    _query("no-value", "worker_id"),
    _query("empty-key", "=a"),
    _query("only-separators", "&&&"),
    _query("equals-in-value", "worker_id=a=b"),
    _query("plus-and-escaped-plus", "worker_id=a+b%2Bc"),
    _query("escaped-ampersand", "worker_id=a%26b"),
    _query("control-characters", "worker_id=%00%01%7f%0d%0a"),
    _query("non-ascii-escaped", "worker_id=p%C3%B6d-%E6%97%A5"),
    _query("non-ascii-raw", "worker_id=pöd-日本"),
    _get("bytes-raw", b"/gpu-pods?worker_id=\xff\xfe"),
    _query("beyond-the-bmp", "worker_id=%f0%9f%98%80"),
    _query("not-utf8", "worker_id=%ff"),
    _query("surrogate", "worker_id=%ed%a0%80"),
    _query("repeated-not-utf8", "worker_id=%ff&worker_id=a"),
    _query("broken-escape", "worker_id=%zz"),
    _query("cut-escape", "worker_id=%"),
    _query("cut-escape-one-digit", "worker_id=%e"),
    _query("broken-escape-in-key", "%zz=a"),
    _query("semicolon", "worker_id=a;only_this_pod=true"),
    _query("semicolon-in-one", "a;b&worker_id=a"),
    _query("semicolon-escaped", "worker_id=a%3Bb"),
    _query("semicolon-and-broken-escape", "a=%zz&b;c"),
    _query("path-into-scalar", "worker_id.x=1"),
    _query("map-syntax-on-scalar", "worker_id[a]=1"),
    _query("map-syntax-on-unknown", "x[a]=1"),
    _query("long", "worker_id=" + "a" * 100_000),
    _query("many", "&".join(f"x{number}=1" for number in range(10_000))),
    _query("too-many", "&".join(f"x{number}=1" for number in range(10_001))),
    _get("fragment", "/gpu-pods?worker_id=a#b"),
    _get("no-query", "/gpu-pods"),
    _get("empty-query", "/gpu-pods?"),
    _get("question-mark-in-query", "/gpu-pods?worker_id=a?b"),
)

NUMBERS_AND_BOOLS = (
    *(_query(f"bool-{text}", f"only_this_pod={text}") for text in lines("gpu_pods_values")),
    *(_query(f"number-{text}", f"max_age_ms={text}") for text in lines("gpu_pods_values")),
    _query("bool-no-value", "only_this_pod"),
    _query("number-of-50-digits", "max_age_ms=" + "9" * 50),
    _query("number-of-9000-digits", "max_age_ms=" + "9" * 9000),
    _query("number-of-9000-zeros", "max_age_ms=" + "0" * 9000 + "7"),
)

PATHS = tuple(_get(f"path-{target}", target) for target in lines("gpu_pods_targets"))

METHODS = (
    *(
        Question(f"{method}-{target}", Request(target, method))
        for method in ("HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND")
        for target in ("/gpu-pods", "/nothing", "/gpu-pods/")
    ),
    Question("OPTIONS-*", Request("*", "OPTIONS")),
    Question("unknown-method", Request("/gpu-pods", "FOO")),
    Question("lower-case-method", Request("/gpu-pods", "get")),
    Question("GET-with-a-body", Request("/gpu-pods?worker_id=a", body=b"{garbage")),
)

FORMS = (
    _post("form", b"worker_id=a&max_age_ms=3", FORM),
    _post("form-and-query", b"max_age_ms=3", FORM, query="?worker_id=q"),
    _post("form-and-query-the-same", b"worker_id=a", FORM, query="?worker_id=q"),
    _post("form-semicolon", b"a;b", FORM),
    _post("form-broken-escape", b"worker_id=%zz", FORM, query="?a;b"),
    _post("form-with-charset", b"worker_id=a", (FORM[0], FORM[1] + "; charset=utf-8")),
    _post("form-in-other-case", b"worker_id=a", (FORM[0], FORM[1].upper())),
    _post("form-empty", b"", FORM),
    _post("json-body", b'{"workerId":"a"}', ("Content-Type", "application/json")),
    _post("override-GET", b"worker_id=a", FORM, (OVERRIDE, "GET")),
    _post("override-in-lower-case", b"worker_id=a", FORM, (OVERRIDE, "get")),
    _post("override-DELETE", b"worker_id=a", FORM, (OVERRIDE, "DELETE")),
    _post("override-without-form", b"", (OVERRIDE, "GET")),
    Question("override-on-GET", Request("/gpu-pods", headers=(FORM, (OVERRIDE, "POST")))),
    Question(
        "override-with-broken-form-elsewhere",
        Request("/nothing", "POST", (FORM, (OVERRIDE, "GET")), b"a;b"),
    ),
    Question("form-PUT", Request("/gpu-pods", "PUT", (FORM,), b"worker_id=a")),
)

ERRORS = (
    *(_query(f"code-{code}", f"worker_id=fail%20{code}%20n%C3%B6%22%20") for code in range(1, 17)),
    _query("no-message", "worker_id=fail%205"),
    _query("details", "worker_id=fail%20details"),
    _query("details-of-well-known-type", "worker_id=fail%20known-details"),
    _query("details-of-unknown-type", "worker_id=fail%20unknown-details"),
    Question(
        "details-of-another-code",
        Request("/gpu-pods?worker_id=fail%20mismatch"),
        wording=False,  # Go prints messages with spaces at random
    ),
)

TIMEOUTS = (
    *(
        _get(f"timeout-{text}", "/gpu-pods?worker_id=deadline", ("Grpc-Timeout", text))
        for text in lines("timeouts")
    ),
    Question(
        "timeout-passes",
        Request("/gpu-pods?worker_id=wait", headers=(("Grpc-Timeout", "200m"),)),
        # The gateway gives its own words, or the server's, whichever notices the end first.
        wording=False,
    ),
    _get("timeout-wrong-and-query-wrong", "/gpu-pods?max_age_ms=x", ("Grpc-Timeout", "x")),
)

HEADERS = (
    _get(
        "forwarded",
        "/gpu-pods?worker_id=metadata",
        ("Authorization", "Bearer one"),
        ("Authorization", "Bearer two"),
        ("Accept", "application/json"),
        ("User-Agent", "test/1"),
        ("Cookie", "c=1"),
        ("Referer", "not äscii"),
        ("Via", "1.1 a"),
        ("Via", "1.1 b"),
        ("Date", "Mon, 30 Nov 2026 09:00:00 GMT"),
        ("If-None-Match", '"x"'),
    ),
    _get(
        "not-forwarded",
        "/gpu-pods?worker_id=metadata",
        ("X-Custom", "y"),
        ("Grpc-Metadata-Foo", "bar"),
        ("Grpc-Metadata-Authorization", "Bearer mine"),
        ("Grpc-Metadata-Raw-Bin", "AAE="),
        ("Accept-Encoding", "gzip"),
        ("Content-Language", "en"),
        ("Authorization", "ünprintable"),
    ),
    _get(
        "forwarded-for",
        "/gpu-pods?worker_id=metadata",
        ("X-Forwarded-For", "192.0.2.1, 192.0.2.2"),
        ("X-Forwarded-For", "2001:db8::1"),
        ("X-Forwarded-Host", "front.example"),
    ),
    _get("other-accept", "/gpu-pods?worker_id=a", ("Accept", "application/xml")),
    _get("returned", "/gpu-pods?worker_id=headers%20twice"),
)
