"""Patches of nodes, pods and events: what they change is written into the simulated truth.

As on the real server, a patch of the object leaves its status as it is, one of its status leaves
the spec, and one that changes nothing makes no new version. What the truth has no place for is
refused, never accepted and forgotten. An object that only the store has may be changed anyhow.
"""

from __future__ import annotations

from typing import Any

from simulator.apiserver.events import RESOURCE as EVENTS
from simulator.apiserver.merging import patched
from simulator.apiserver.node_object import kubelet_labels
from simulator.apiserver.pod_object import Json
from simulator.apiserver.requests import Target
from simulator.apiserver.status import conflict, invalid, not_found
from simulator.apiserver.store import Store, Stored
from simulator.apiserver.truths import truth_of
from simulator.model import Cluster, SimNode, SimPod, Verb

FIXED = ("name", "namespace", "uid", "creationTimestamp")
"""What of the metadata is never changed."""
NODE_STATUS = ("conditions", "capacity", "allocatable")


def patch(cluster: Cluster, store: Store, target: Target, change: Any, media_type: str) -> Stored:
    """Do what the patch ``change`` says to an object, or to its status.

    Raises:
        StatusError: 404; 409, metadata.resourceVersion is not the current one; 415, it is of a
            kind that is not simulated; 422, it changes what cannot be changed here.
    """
    before = store.get(target.resource, target.key)
    if before is None:
        raise not_found(target.resource, target.name)
    after = _after(before, target, change, media_type)
    if after == before.object:
        return before
    found = None if target.resource == EVENTS else truth_of(cluster, before.object)
    if found is None:
        return store.put(target.resource, after)
    _write(found, before.object, after)
    cluster.tell(Verb.MODIFIED, found)
    stored = store.get(target.resource, target.key)
    assert stored is not None  # noqa: S101 - it was found above
    return stored


def _after(before: Stored, target: Target, change: Any, media_type: str) -> Json:
    """The object as the patch would have it."""
    old = before.object
    after = patched(old, change, media_type)
    metadata = after.get("metadata")
    if not isinstance(metadata, dict):
        raise invalid("metadata is an object")
    # An empty version and uid are no precondition.
    if metadata.get("resourceVersion") not in (None, "", str(before.version)):
        raise conflict(target.resource, target.name)
    if metadata.get("uid") not in (None, "", old["metadata"]["uid"]):
        raise invalid(f"metadata.uid: Invalid value: {metadata['uid']!r}: field is immutable")
    kept = {name: old["metadata"].get(name) for name in (*FIXED, "resourceVersion")}
    if any(metadata.get(name) not in (None, kept[name]) for name in ("name", "namespace")):
        raise invalid("the name of an object does not change")
    after["metadata"] = metadata | {name: kept[name] for name in kept if kept[name] is not None}
    for name in ("labels", "annotations"):
        _check_texts(after["metadata"], name)
    part = "spec" if target.subresource == "status" else "status"
    after.pop(part, None)
    return after | ({part: old[part]} if part in old else {})


def _check_texts(metadata: Json, name: str) -> None:
    texts = metadata.get(name)
    if texts is None or texts == {}:
        metadata.pop(name, None)
        return
    if not isinstance(texts, dict) or not all(isinstance(v, str) for v in texts.values()):
        raise invalid(f"metadata.{name} has texts only")


def _write(found: SimPod | SimNode, old: Json, new: Json) -> None:
    """Let the truth be as ``new``.

    Raises:
        StatusError: 422, something else differs than what can be changed; nothing is.
    """
    others = _differing(old["metadata"], new["metadata"], "metadata", ("labels", "annotations"))
    others += _differing(old, new, "", ("metadata", "spec", "status"))
    is_node = isinstance(found, SimNode)
    spec = ("unschedulable", "taints") if is_node else ()
    others += _differing(old.get("spec") or {}, new.get("spec") or {}, "spec", spec)
    status = NODE_STATUS if is_node else ()
    others += _differing(old.get("status") or {}, new.get("status") or {}, "status", status)
    labels = dict(new["metadata"].get("labels") or {})
    if isinstance(found, SimNode):
        others += _lost(found, labels, new)
    if others:
        can = "labels, annotations, and of a node unschedulable, conditions and resources"
        raise invalid(f"the simulator lets {can} be changed, not {', '.join(others)}")
    found.annotations = dict(new["metadata"].get("annotations") or {})
    if isinstance(found, SimNode):
        fixed = kubelet_labels(found)
        labels = {name: value for name, value in labels.items() if fixed.get(name) != value}
        found.unschedulable = bool((new.get("spec") or {}).get("unschedulable"))
        _write_status(found, old["status"], new["status"])
    found.labels = labels


def _differing(old: Json, new: Json, where: str, allowed: tuple[str, ...]) -> list[str]:
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return [f"{where}.{name}".lstrip(".") for name in names if name not in allowed]


def _lost(node: SimNode, labels: dict[str, str], new: Json) -> list[str]:
    """What only a kubelet could take away, and puts there again."""
    lost = [f"label {name}" for name in kubelet_labels(node) if name not in labels]
    kept = {condition["type"] for condition in new["status"].get("conditions") or ()}
    kubelets = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
    return lost + [f"condition {kind}" for kind in kubelets if kind not in kept]


def _write_status(node: SimNode, old: Json, new: Json) -> None:
    before = {condition["type"]: condition for condition in old["conditions"]}
    after = {condition["type"]: condition for condition in new["conditions"]}
    node.conditions = {
        kind: condition
        for kind, condition in after.items()
        if kind in node.conditions or before.get(kind) != condition
    }
    for name, resources in (("capacity", node.capacity), ("allocatable", node.allocatable)):
        was, now = old.get(name) or {}, new.get(name) or {}
        for resource in {**was, **now}:
            if resource not in now:
                resources.pop(resource, None)
            elif was.get(resource) != now[resource]:
                resources[resource] = str(now[resource])
