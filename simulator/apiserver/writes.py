"""Writes: most change the simulated truth, and the store follows it.

What the simulated cluster cannot do is refused, never accepted and forgotten.
"""

from __future__ import annotations

from typing import Any

from simulator.apiserver import creation, events, leases, patches, pod_actions
from simulator.apiserver.discovery import VERBS
from simulator.apiserver.faults import Faults
from simulator.apiserver.pod_object import Json
from simulator.apiserver.requests import Target
from simulator.apiserver.status import method_not_allowed, not_found, success
from simulator.apiserver.store import Store
from simulator.apiserver.truths import truth_of
from simulator.changes import delete_pod, remove_node
from simulator.model import Cluster, SimPod

CREATED, OK = 201, 200


class Writes:
    """What POST, PUT, PATCH and DELETE do to ``store`` and the truth behind it."""

    def __init__(self, cluster: Cluster, store: Store, faults: Faults) -> None:
        self._cluster = cluster
        self._store = store
        self._faults = faults

    def do(self, method: str, target: Target, body: Any, media_type: str) -> tuple[int, object]:
        """Do what a request says.

        Returns: the HTTP code and the answer's JSON.

        Raises:
            StatusError: it cannot be done.
        """
        if target.resource == leases.RESOURCE:
            now = self._cluster.now()
            written = leases.write(self._store, method, target, body, now)
            return CREATED if method == "POST" else OK, written
        if method == "POST":
            return CREATED, self._post(target, body)
        if method == "PATCH" and target.name and "patch" in VERBS[target.resource]:
            patch = patches.patch(self._cluster, self._store, target, body, media_type)
            in_group = target.group_version == events.GROUP
            return OK, events.in_group(patch.object) if in_group else patch.raw
        if method == "DELETE" and target.name and not target.subresource:
            return OK, self._delete(target)
        raise method_not_allowed()

    def _post(self, target: Target, body: Any) -> object:
        cluster, store = self._cluster, self._store
        if target.right == "pods/binding":
            return pod_actions.bind(cluster, store, target, body)
        if target.right == "pods/eviction":
            return pod_actions.evict(cluster, store, self._faults, target, body)
        if target.name or not target.namespace:
            raise method_not_allowed()
        if target.resource == events.RESOURCE:
            made = events.create(store, target, body, cluster.now())
            return (
                events.in_group(made.object) if target.group_version == events.GROUP else made.raw
            )
        pod = creation.create(cluster, target, body)
        stored = store.get("pods", str(pod.ref))
        return stored and stored.raw

    def _delete(self, target: Target) -> Json:
        """A pod or a node goes at once, without a grace period."""
        if target.resource not in ("pods", "nodes"):
            raise method_not_allowed()
        stored = self._store.get(target.resource, target.key)
        found = None if stored is None else truth_of(self._cluster, stored.object)
        if found is None:
            raise not_found(target.resource, target.name)
        if isinstance(found, SimPod):
            delete_pod(self._cluster, found)
        else:
            remove_node(self._cluster, found)
        return success(target.resource, target.name, found.uid)
