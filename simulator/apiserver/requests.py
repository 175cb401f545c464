"""What a request asks for, read from its path, query and Accept header. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.apiserver.discovery import CORE, KINDS, SUBRESOURCES, api_versions_of
from simulator.apiserver.selectors import Matches, selector
from simulator.apiserver.status import StatusError, bad_request, no_such_path

MIN_PARTS_NAMESPACED = 3
MOST_PARTS_OF_OBJECT = 2
TRUE = ("1", "true", "True")


@dataclass(frozen=True, slots=True)
class Target:
    """A resource, all of it or in one namespace, or one object of it."""

    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    group_version: str = CORE

    @property
    def right(self) -> str:
        """What access control calls it: "nodes", "nodes/status"."""
        return "/".join(filter(None, (self.resource, self.subresource)))

    @property
    def key(self) -> str:
        """Of one object, in the store."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def read_target(tail: str, group_version: str = CORE) -> Target:
    """Read what follows ``/api/v1/``, or ``/apis/`` and the group and version.

    Raises:
        StatusError: 404, no such resource is served.
    """
    parts = tail.strip("/").split("/")
    namespace = ""
    if parts[0] == "namespaces" and len(parts) >= MIN_PARTS_NAMESPACED:
        _, namespace, *parts = parts
    resource, *rest = parts
    known = KINDS.get(resource)
    if (
        known is None
        or group_version not in api_versions_of(resource)
        or len(rest) > MOST_PARTS_OF_OBJECT
        or (namespace and not known[2])
    ):
        raise no_such_path()
    name, subresource = (*rest, "", "")[:MOST_PARTS_OF_OBJECT]
    if name and known[2] and not namespace:
        raise no_such_path()
    if subresource and (resource, subresource) not in SUBRESOURCES:
        raise no_such_path()
    return Target(resource, namespace, name, subresource, group_version)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The query of a list or a watch. ``version`` is None where none was given."""

    matches: Matches
    selects: bool
    """Whether a selector was given."""
    version: int | None
    exact: bool
    limit: int
    continue_token: str
    timeout_s: int | None
    bookmarks: bool
    initial_events: bool
    only: str = ""
    """The key of the one object that can match, where that is known."""


def read_options(query: Mapping[str, str], target: Target) -> ListOptions:
    """Read ``query``, whose selectors are narrowed to the target's namespace and name.

    Raises:
        StatusError: 400, a value cannot be read.
    """
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    selects = bool(labels or fields)
    if target.namespace:
        fields += f",metadata.namespace={target.namespace}"
    if target.name:
        fields += f",metadata.name={target.name}"
    version = query.get("resourceVersion", "")
    return ListOptions(
        matches=selector(labels, fields),
        selects=selects,
        version=_number(version, "resourceVersion") if version else None,
        exact=query.get("resourceVersionMatch") == "Exact",
        limit=_number(query.get("limit", "0"), "limit"),
        continue_token=query.get("continue", ""),
        timeout_s=_number(query["timeoutSeconds"], "timeoutSeconds")
        if query.get("timeoutSeconds")
        else None,
        bookmarks=query.get("allowWatchBookmarks") in TRUE,
        initial_events=query.get("sendInitialEvents") in TRUE,
        only=_only(fields, target),
    )


def _only(fields: str, target: Target) -> str:
    """Thousands of agents watch one node each: none should be told of all others' nodes."""
    names = [part for part in fields.split(",") if part.strip().startswith("metadata.name=")]
    if not names or (KINDS[target.resource][2] and not target.namespace):
        return ""
    name = names[0].partition("=")[2].lstrip("=").strip()
    return f"{target.namespace}/{name}" if target.namespace else name


def _number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise bad_request(f"invalid {name}: {text!r} is not a number")
    return int(text)


def wants_table(accept: str) -> bool:
    """Whether the client would have a Table, as kubectl does; else plain JSON.

    Raises:
        StatusError: 406, it accepts neither.
    """
    for part in accept.split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        if media == "application/json" and "as=Table" in parameters:
            return True
        plain = not any(parameter.startswith("as=") for parameter in parameters)
        if media in ("application/json", "application/*", "*/*", "") and plain:
            return False
    raise StatusError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json (this is a simulator)",
    )
