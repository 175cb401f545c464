"""Label and field selectors, as far as clients of pods and nodes use them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from simulator.apiserver.pod_object import Json
from simulator.apiserver.status import bad_request

Matches = Callable[[Json], bool]

FIELDS: dict[str, tuple[str, ...]] = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.restartPolicy": ("spec", "restartPolicy"),
    "spec.schedulerName": ("spec", "schedulerName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "spec.unschedulable": ("spec", "unschedulable"),
    "status.phase": ("status", "phase"),
    "status.podIP": ("status", "podIP"),
    # Of events, in the names of either group:
    "reason": ("reason",),
    "type": ("type",),
    "source": ("source", "component"),
    "reportingComponent": ("reportingComponent",),
    "reportingController": ("reportingComponent",),
} | {
    f"{about}.{name}": ("involvedObject", name)
    for about in ("involvedObject", "regarding")
    for name in ("kind", "namespace", "name", "uid", "apiVersion", "fieldPath")
}

SET = re.compile(r"^(?P<key>\S+)\s+(?P<operator>in|notin)\s+\((?P<values>[^)]*)\)$")
COMPARISON = re.compile(r"^(?P<key>[^=!\s]+)\s*(?P<operator>==|=|!=)\s*(?P<value>\S*)$")
EXISTS = re.compile(r"^(?P<absent>!?)\s*(?P<key>[^=!\s()]+)$")
COMMA_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")


def selector(labels: str, fields: str) -> Matches:
    """What matches both selectors; an empty one matches everything.

    Raises:
        StatusError: 400, one of them cannot be read or names a field that is not known.
    """
    rules = [_label_rule(part) for part in _parts(labels)]
    rules += [_field_rule(part) for part in _parts(fields)]
    return lambda thing: all(rule(thing) for rule in rules)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in COMMA_OUTSIDE_PARENTHESES.split(text) if part.strip()]


def _label_rule(part: str) -> Matches:
    if found := SET.match(part):
        values = {value.strip() for value in found["values"].split(",")}
        key, wanted = found["key"], found["operator"] == "in"
        return lambda thing: (_label(thing, key) in values) is wanted
    if found := COMPARISON.match(part):
        key, value, equal = found["key"], found["value"], found["operator"] != "!="
        return lambda thing: (_label(thing, key) == value) is equal
    if found := EXISTS.match(part):
        key, present = found["key"], not found["absent"]
        return lambda thing: (_label(thing, key) is not None) is present
    raise bad_request(f"unable to parse requirement: {part!r}")


def _label(thing: Json, key: str) -> str | None:
    labels: dict[str, str] = thing["metadata"].get("labels") or {}
    return labels.get(key)


def _field_rule(part: str) -> Matches:
    found = COMPARISON.match(part)
    if found is None:
        raise bad_request(f"invalid field selector: {part!r}")
    path = FIELDS.get(found["key"])
    if path is None:
        raise bad_request(f"field label not supported: {found['key']}")
    value, equal = found["value"], found["operator"] != "!="
    return lambda thing: (_field(thing, path) == value) is equal


def _field(thing: Json, path: tuple[str, ...]) -> str:
    value: Any = thing
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if value is None and path == FIELDS["spec.unschedulable"]:
        return "false"
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else ""
