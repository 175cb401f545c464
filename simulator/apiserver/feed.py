"""Keeps the API server's store in step with the simulated truth."""

from __future__ import annotations

from simulator.apiserver.node_object import namespace_object, node_object
from simulator.apiserver.pod_object import pod_object
from simulator.apiserver.store import Store
from simulator.model import Change, Cluster, SimNode, SimPod, Verb

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Those that every cluster has."""


class Feed:
    """Puts every pod, node and namespace of ``cluster`` into ``store``, then each change."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        self._cluster = cluster
        self._store = store
        for name in NAMESPACES:
            self._namespace(name)
        for node in cluster.nodes.values():
            self._put(node)
        for pod in cluster.pods.values():
            self._put(pod)
        cluster.observers.append(self._observe)

    def close(self) -> None:
        """Follow the cluster no more."""
        self._cluster.observers.remove(self._observe)

    def _observe(self, change: Change) -> None:
        if change.verb is not Verb.DELETED:
            self._put(change.object)
        elif isinstance(change.object, SimPod):
            self._store.remove("pods", str(change.object.ref))
        else:
            self._store.remove("nodes", change.object.name)

    def _put(self, thing: SimPod | SimNode) -> None:
        if isinstance(thing, SimNode):
            self._store.put("nodes", node_object(thing, self._cluster.now()))
            return
        if self._store.get("namespaces", thing.namespace) is None:
            self._namespace(thing.namespace)
        self._store.put("pods", pod_object(thing))

    def _namespace(self, name: str) -> None:
        self._store.put("namespaces", namespace_object(name, self._cluster.now()))
