from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.http.path_template import PathTemplateError, parse_path_template

SEGMENT = st.from_regex(r"[a-z0-9\-]{1,8}", fullmatch=True)


@pytest.mark.parametrize(
    ("template", "path", "captured"),
    [
        ("/", "/", {}),
        ("/", "//", None),
        ("/gpu-pods", "/gpu-pods", {}),
        ("/gpu-pods", "/gpu-pods/", None),
        ("/gpu-pods", "/gpu-pods/x", None),
        ("/gpu-pods", "/GPU-pods", None),
        ("/v1/{name}", "/v1/a", {"name": "a"}),
        ("/v1/{name}", "/v1/", {"name": ""}),
        ("/v1/{name}", "/v1", None),
        ("/v1/{name=pods/*}", "/v1/pods/a", {"name": "pods/a"}),
        ("/v1/{name=pods/*}", "/v1/nodes/a", None),
        ("/v1/{name=pods/*}/x", "/v1/pods/a/x", {"name": "pods/a"}),
        ("/v1/{a.b}/{c}", "/v1/1/2", {"a.b": "1", "c": "2"}),
        ("/v1/{all=**}", "/v1/a/b/c", {"all": "a/b/c"}),
        ("/v1/{all=**}", "/v1", {"all": ""}),
        ("/v1/{all=**}", "/", None),
        ("/v1/{all=**}/logs", "/v1/a/b/logs", {"all": "a/b"}),
        ("/v1/{all=**}/logs", "/v1/logs", {"all": ""}),
        ("/v1/{all=**}/logs", "/v1", None),
        ("/v1/{all=x/**/y}", "/v1/x/1/2/y", {"all": "x/1/2/y"}),
        ("/**", "/", {}),
        ("/v1/*/end", "/v1/anything/end", {}),
        ("/v1/{name}:evict", "/v1/a:evict", {"name": "a"}),
        ("/v1/{name}:evict", "/v1/a:b:evict", {"name": "a:b"}),
        ("/v1/{name}:evict", "/v1/:evict", None),
        ("/v1/{name}:evict", "/v1/a", None),
        ("/v1/{name}", "/v1/a:evict", {"name": "a:evict"}),
        ("/v1/{name}:a:b", "/v1/x:a:b", {"name": "x"}),
        ("/a:b", "/a:b", {}),
    ],
)
def test_match(template: str, path: str, captured: dict[str, str] | None) -> None:
    assert parse_path_template(template).match(path[1:].split("/")) == captured


@pytest.mark.parametrize(
    "template",
    ["", "v1", "//", "/a//b", "/a/", "/{", "/{x", "/x}", "/a{b}", "/{a=}", "/{=a}", "/{1}",
     "/{a..b}", "/{a}/{b=**}/**",
     "/ü", "/a b", "/%zz", "/a:", "/{a}:%", "/{a=**}/{b=**}", "/{a={b}}"],
)  # fmt: skip
def test_what_is_no_template(template: str) -> None:
    with pytest.raises(PathTemplateError, match="/"):
        parse_path_template(template)


@given(st.lists(SEGMENT, min_size=1))
def test_a_literal_path_matches_itself_and_nothing_longer(segments: list[str]) -> None:
    template = parse_path_template("/" + "/".join(segments))
    assert template.match(segments) == {}
    assert template.match([*segments, "x"]) is None
    assert template.match(segments[:-1] or [""]) is None


@given(st.lists(SEGMENT), st.lists(st.text()), st.lists(SEGMENT))
def test_a_deep_wildcard_takes_what_is_left(
    before: list[str], middle: list[str], after: list[str]
) -> None:
    template = parse_path_template("/" + "/".join([*before, "{all=**}", *after]))
    assert template.match([*before, *middle, *after]) == {"all": "/".join(middle)}
