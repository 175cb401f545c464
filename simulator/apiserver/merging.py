"""The patches that clients of nodes, pods and events send, applied to an object. Pure.

JSON merge patch (RFC 7396) and strategic merge patch, which merges some lists by a key. JSON Patch
and server-side apply are not simulated.
"""

from __future__ import annotations

from typing import Any

from gpupods.kube.api import MERGE_PATCH, STRATEGIC_MERGE
from simulator.apiserver.pod_object import Json
from simulator.apiserver.status import StatusError, bad_request, invalid

REAL_SERVERS = (
    "application/json-patch+json",
    MERGE_PATCH,
    STRATEGIC_MERGE,
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
)
MERGE_KEYS = {"conditions": "type", "addresses": "type", "containers": "name"}
"""Lists that a strategic merge patch merges, by this field of their items; others it replaces."""

DIRECTIVE = "$patch"
ORDER = "$setElementOrder/"


def patched(thing: Json, change: Any, media_type: str) -> Json:
    """``thing`` with ``change`` in it; ``thing`` itself stays as it is.

    Raises:
        StatusError: 415, this is no kind of patch that is simulated; 400 or 422, it is no patch.
    """
    if media_type not in (MERGE_PATCH, STRATEGIC_MERGE):
        raise _unsupported(media_type)
    if not isinstance(change, dict):
        raise bad_request("a patch is a JSON object")
    return (_merged if media_type == MERGE_PATCH else _strategically)(thing, change)


def _unsupported(media_type: str) -> StatusError:
    said = "the body of the request was in an unknown format - accepted media types include: "
    said += ", ".join(REAL_SERVERS)
    if media_type in REAL_SERVERS:
        said = f"the simulator knows {MERGE_PATCH} and {STRATEGIC_MERGE}, not {media_type}"
    return StatusError(415, "UnsupportedMediaType", said)


def _merged(thing: Json, change: Json) -> Json:
    made = dict(thing)
    for name, value in change.items():
        if value is None:
            made.pop(name, None)
        elif isinstance(value, dict):
            old = made.get(name)
            made[name] = _merged(old if isinstance(old, dict) else {}, value)
        else:
            made[name] = value
    return made


def _strategically(thing: Json, change: Json) -> Json:
    if change.get(DIRECTIVE) == "replace":
        return {name: value for name, value in change.items() if name != DIRECTIVE}
    made = dict(thing)
    for name, value in change.items():
        if name.startswith(ORDER) or name == DIRECTIVE:
            continue
        old = made.get(name)
        if value is None:
            made.pop(name, None)
        elif isinstance(value, dict):
            made[name] = _strategically(old if isinstance(old, dict) else {}, value)
        elif isinstance(value, list) and name in MERGE_KEYS:
            made[name] = _list(old if isinstance(old, list) else [], value, name)
        else:
            made[name] = value
    return made


def _list(old: list[Json], change: list[Any], name: str) -> list[Json]:
    """The items by their key: old ones keep their places, new ones come after them."""
    key = MERGE_KEYS[name]
    if any(isinstance(item, dict) and item.get(DIRECTIVE) == "replace" for item in change):
        return [item for item in change if DIRECTIVE not in item]
    items = {item[key]: item for item in old}
    for item in change:
        if not isinstance(item, dict) or not isinstance(item.get(key), str):
            raise invalid(f"an item of {name} does not have the merge key {key}: {item!r}")
        if item.get(DIRECTIVE) == "delete":
            items.pop(item[key], None)
        else:
            items[item[key]] = _strategically(items.get(item[key], {}), item)
    return list(items.values())
