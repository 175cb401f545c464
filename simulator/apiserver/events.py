"""Events: kept as they are written, in both forms that the API has, the oldest forgotten first.

They are no part of the simulated truth: who notices a change writes them, kubectl reads them.
Stored in the form of the core group, shown in the form that is asked for.
"""

from __future__ import annotations

import uuid
from typing import Any

from simulator.apiserver.pod_object import Json, timestamp
from simulator.apiserver.requests import Target
from simulator.apiserver.status import already_exists, invalid
from simulator.apiserver.store import Store, Stored
from simulator.model import WallSeconds

RESOURCE = "events"
CORE = "v1"
GROUP = "events.k8s.io/v1"
MOST_KEPT = 10_000
LONGEST = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}

NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
"""The fields that events.k8s.io names otherwise than the core group does."""
CORE_NAMES = {new: core for core, new in NEW_NAMES.items()}


def in_group(event: Json) -> Json:
    """A stored event as events.k8s.io has it."""
    renamed = {NEW_NAMES.get(name, name): value for name, value in event.items()}
    return renamed | {"apiVersion": GROUP}


def in_core(event: Json) -> Json:
    """An event of events.k8s.io as it is stored."""
    renamed = {CORE_NAMES.get(name, name): value for name, value in event.items()}
    return renamed | {"apiVersion": CORE}


def create(store: Store, target: Target, body: Any, now: WallSeconds) -> Stored:
    """Keep a new event.

    Raises:
        StatusError: 409, there is one of that name; 422, it is none, or lacks what the group asks.
    """
    if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
        raise invalid("this is not an Event")
    event = in_core(body) if target.group_version == GROUP else dict(body)
    metadata = dict(event["metadata"])
    suffix = uuid.uuid4().hex[:5]
    name = metadata.get("name") or f"{metadata.get('generateName', '')}{suffix}"
    if name == suffix:
        raise invalid("metadata.name: Required value: name or generateName is required")
    if metadata.get("namespace", target.namespace) != target.namespace:
        raise invalid("the namespace of the provided object does not match that of the request")
    _check(event, target)
    made = {
        "name": name,
        "namespace": target.namespace,
        "uid": str(uuid.uuid4()),
        "creationTimestamp": timestamp(now),
    }
    event |= {"kind": "Event", "apiVersion": CORE, "metadata": metadata | made}
    event.setdefault("source", {})
    for field in ("firstTimestamp", "lastTimestamp", "eventTime"):
        event.setdefault(field, None)
    for field in ("reportingComponent", "reportingInstance"):
        event.setdefault(field, "")
    if store.get(RESOURCE, f"{target.namespace}/{name}") is not None:
        raise already_exists(RESOURCE, name)
    stored = store.put(RESOURCE, event)
    store.keep_newest(RESOURCE, MOST_KEPT)
    return stored


def _check(event: Json, target: Target) -> None:
    """As the real server does: more of an event that has an eventTime, and in the new group."""
    about = event.get("involvedObject") or {}
    timed = event.get("eventTime") is not None
    allowed = {about.get("namespace") or "default"}
    if timed and not about.get("namespace"):
        allowed.add("kube-system")
    if target.namespace not in allowed:
        raise invalid("involvedObject.namespace: does not match event.namespace")
    if target.group_version == GROUP and not timed:
        raise invalid("eventTime: Required value")
    if target.group_version == GROUP and event.get("type") not in ("Normal", "Warning"):
        raise invalid(f"type: Invalid value: {event.get('type')!r}: has invalid value")
    if timed:
        _check_timed(event)


def _check_timed(event: Json) -> None:
    for field in ("reportingComponent", "reportingInstance", "action", "reason"):
        if not event.get(field):
            raise invalid(f"{field}: Required value")
    for field, longest in LONGEST.items():
        if len(event.get(field) or "") > longest:
            raise invalid(f"{field}: can have at most {longest} characters")
