"""Leases: kept as they are written, and never over one that its writer has not seen.

They are no part of the simulated truth: only who elects a leader reads them.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from simulator.apiserver.pod_object import Json
from simulator.apiserver.requests import Target
from simulator.apiserver.status import (
    already_exists,
    conflict,
    invalid,
    method_not_allowed,
    not_found,
    success,
)
from simulator.apiserver.store import Store

RESOURCE = "leases"
API_VERSION = "coordination.k8s.io/v1"


def write(store: Store, method: str, target: Target, body: Any, now: float) -> object:
    """Do what POST, PUT or DELETE says.

    Raises:
        StatusError: 404; 405; 409, there is one already, or it has been changed meanwhile; 422,
            this is no lease.
    """
    if method == "POST" and target.namespace and not target.name:
        return _create(store, target, body, now)
    if method == "PUT" and target.name:
        return _replace(store, target, body)
    if method == "DELETE" and target.name:
        return _delete(store, target)
    raise method_not_allowed()


def _create(store: Store, target: Target, body: Any, now: float) -> object:
    metadata = _metadata(body, target.namespace)
    if store.get(RESOURCE, f"{target.namespace}/{metadata['name']}") is not None:
        raise already_exists(RESOURCE, metadata["name"])
    if metadata.get("resourceVersion"):
        raise invalid("resourceVersion should not be set on objects to be created")
    created = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    made = {"uid": str(uuid.uuid4()), "creationTimestamp": created}
    return store.put(RESOURCE, _lease(body, metadata | made)).raw


def _replace(store: Store, target: Target, body: Any) -> object:
    before = store.get(RESOURCE, target.key)
    if before is None:
        raise not_found(RESOURCE, target.name)
    metadata = _metadata(body, target.namespace)
    if metadata["name"] != target.name:
        raise invalid(f"the name {metadata['name']!r} is not that of the path")
    if metadata.get("resourceVersion") not in (None, "", str(before.version)):
        raise conflict(RESOURCE, target.name)
    kept = {key: before.object["metadata"][key] for key in ("uid", "creationTimestamp")}
    return store.put(RESOURCE, _lease(body, metadata | kept)).raw


def _delete(store: Store, target: Target) -> object:
    before = store.get(RESOURCE, target.key)
    if before is None:
        raise not_found(RESOURCE, target.name)
    store.remove(RESOURCE, target.key)
    return success(RESOURCE, target.name, before.object["metadata"]["uid"])


def _metadata(body: Any, namespace: str) -> Json:
    try:
        metadata: Json = dict(body["metadata"])
        metadata["name"] = str(metadata["name"])
    except (KeyError, TypeError, ValueError) as error:
        raise invalid(f"this is not a Lease: {error!r}") from error
    if metadata.get("namespace", namespace) != namespace:
        raise invalid("the namespace is not that of the path")
    return metadata | {"namespace": namespace}


def _lease(body: Json, metadata: Json) -> Json:
    spec: Json = dict(body.get("spec") or {})
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and (not isinstance(duration, int) or duration <= 0):
        raise invalid("spec.leaseDurationSeconds: must be greater than 0")
    return {"kind": "Lease", "apiVersion": API_VERSION, "metadata": metadata, "spec": spec}
