"""Objects as the rows of a Table, with the columns that the real server gives kubectl. Pure.

They are made from the JSON objects alone, so an object put straight into the store shows too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from simulator.apiserver.ages import age
from simulator.apiserver.pod_object import Json
from simulator.apiserver.pod_rows import pod_cells

Cells = Callable[[Json, float], list[Any]]

COLUMNS: dict[str, tuple[tuple[str, str, int], ...]] = {
    "pods": (
        ("Name", "string", 0),
        ("Ready", "string", 0),
        ("Status", "string", 0),
        ("Restarts", "string", 0),
        ("Age", "string", 0),
        ("IP", "string", 1),
        ("Node", "string", 1),
        ("Nominated Node", "string", 1),
        ("Readiness Gates", "string", 1),
    ),
    "nodes": (
        ("Name", "string", 0),
        ("Status", "string", 0),
        ("Roles", "string", 0),
        ("Age", "string", 0),
        ("Version", "string", 0),
        ("Internal-IP", "string", 1),
        ("External-IP", "string", 1),
        ("OS-Image", "string", 1),
        ("Kernel-Version", "string", 1),
        ("Container-Runtime", "string", 1),
    ),
    "namespaces": (("Name", "string", 0), ("Status", "string", 0), ("Age", "string", 0)),
    "events": (
        ("Last Seen", "string", 0),
        ("Type", "string", 0),
        ("Reason", "string", 0),
        ("Object", "string", 0),
        ("Subobject", "string", 1),
        ("Source", "string", 1),
        ("Message", "string", 0),
        ("First Seen", "string", 1),
        ("Count", "string", 1),
        ("Name", "string", 1),
    ),
    "leases": (("Name", "string", 0), ("Holder", "string", 0), ("Age", "string", 0)),
}

ROLE = "node-role.kubernetes.io/"


def table(
    resource: str, objects: Iterable[Json], metadata: Json, now: float, include: str, *, head: bool
) -> Json:
    """A meta.k8s.io/v1 Table.

    Args:
        resource: "pods", "nodes", ...
        objects: The rows' objects.
        metadata: The list's or the single object's.
        now: Seconds since the epoch, from which ages are counted.
        include: The parameter includeObject: "Metadata", "Object" or "None".
        head: Whether to describe the columns; a watch does so in its first event only.
    """
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": _definitions(resource) if head else None,
        "rows": [_row(resource, thing, now, include) for thing in objects],
    }


def _definitions(resource: str) -> list[Json]:
    return [
        {
            "name": name,
            "type": kind,
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": priority,
        }
        for name, kind, priority in COLUMNS[resource]
    ]


def _row(resource: str, thing: Json, now: float, include: str) -> Json:
    row: Json = {"cells": CELLS[resource](thing, now)}
    if include == "Object":
        row["object"] = thing
    elif include != "None":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": thing["metadata"],
        }
    return row


def _age_of(thing: Json, now: float) -> str:
    return _since(thing["metadata"].get("creationTimestamp"), now)


def _since(moment: str | None, now: float) -> str:
    if not moment:
        return "<unknown>"
    return age(now - datetime.fromisoformat(moment).timestamp())


def _pod(pod: Json, now: float) -> list[Any]:
    return pod_cells(pod, _age_of(pod, now), now)


def _node(node: Json, now: float) -> list[Any]:
    status = node.get("status") or {}
    info = status.get("nodeInfo") or {}
    ready = [c["status"] for c in status.get("conditions") or () if c["type"] == "Ready"]
    state = "Ready" if ready == ["True"] else "NotReady" if ready else "Unknown"
    if (node.get("spec") or {}).get("unschedulable"):
        state += ",SchedulingDisabled"
    labels = node["metadata"].get("labels") or {}
    roles = sorted(label.removeprefix(ROLE) for label in labels if label.startswith(ROLE))
    internal = [a["address"] for a in status.get("addresses") or () if a["type"] == "InternalIP"]
    return [
        node["metadata"]["name"],
        state,
        ",".join(roles) or "<none>",
        _age_of(node, now),
        info.get("kubeletVersion", ""),
        internal[0] if internal else "<none>",
        "<none>",
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _namespace(namespace: Json, now: float) -> list[Any]:
    return [namespace["metadata"]["name"], namespace["status"]["phase"], _age_of(namespace, now)]


def _event(event: Json, now: float) -> list[Any]:
    series = event.get("series") or {}
    about = event.get("involvedObject") or {}
    source = event.get("source") or {}
    first = event.get("firstTimestamp") or event.get("eventTime")
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or first
    component = source.get("component") or event.get("reportingComponent", "")
    return [
        _since(last, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        ", ".join(filter(None, (component, source.get("host") or event.get("reportingInstance")))),
        (event.get("message") or "").strip(),
        _since(first, now),
        series.get("count") or event.get("count") or 1,
        event["metadata"]["name"],
    ]


def _lease(lease: Json, now: float) -> list[Any]:
    holder = (lease.get("spec") or {}).get("holderIdentity", "")
    return [lease["metadata"]["name"], holder, _age_of(lease, now)]


CELLS: dict[str, Cells] = {
    "pods": _pod,
    "nodes": _node,
    "namespaces": _namespace,
    "events": _event,
    "leases": _lease,
}
