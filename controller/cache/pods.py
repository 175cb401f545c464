"""Pods by uid, by name, by node and by container id.

A change costs time in proportion to that pod alone; so does a question to its answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

import msgspec

from controller.cache.records import ContainerOwner, PodRecord
from gpupods.identity import ContainerId, NodeName, PodRef, PodUid

K = TypeVar("K", bound=Hashable)

_encode_json = msgspec.json.Encoder().encode


class PodGroups(Generic[K]):
    """Pods under a key that several may share.

    Most names and namespace/name pairs have one pod, which then stands without a container of
    its own: that saves 200 bytes a pod.
    """

    def __init__(self) -> None:
        self._groups: dict[K, PodRecord | dict[PodUid, PodRecord]] = {}

    def put(self, key: K, pod: PodRecord) -> None:
        """Add ``pod``, or replace the record of the same uid in its place."""
        group = self._groups.get(key)
        if group is None or (isinstance(group, PodRecord) and group.uid == pod.uid):
            self._groups[key] = pod
        elif isinstance(group, PodRecord):
            self._groups[key] = {group.uid: group, pod.uid: pod}
        else:
            group[pod.uid] = pod

    def remove(self, key: K, uid: PodUid) -> None:
        """Take the pod out, if it is there."""
        group = self._groups.get(key)
        if isinstance(group, dict):
            group.pop(uid, None)
            if len(group) == 1:
                (self._groups[key],) = group.values()
        elif group is not None and group.uid == uid:
            del self._groups[key]

    def get(self, key: K) -> tuple[PodRecord, ...]:
        """The pods of ``key``, oldest arrival first."""
        group = self._groups.get(key)
        if group is None:
            return ()
        return tuple(group.values()) if isinstance(group, dict) else (group,)

    def newest(self, key: K) -> PodRecord | None:
        """The pod of ``key`` that arrived last."""
        group = self._groups.get(key)
        return next(reversed(group.values())) if isinstance(group, dict) else group


class PodIndexes:
    """All pods, and every way to find them."""

    def __init__(self) -> None:
        self._by_uid: dict[PodUid, PodRecord] = {}
        self._by_ref: PodGroups[tuple[str, str]] = PodGroups()
        self._by_name: PodGroups[str] = PodGroups()
        self._by_node: PodGroups[NodeName] = PodGroups()
        self._by_container: dict[ContainerId, PodRecord] = {}
        self._maps: dict[NodeName, str] = {}

    def __len__(self) -> int:
        return len(self._by_uid)

    def __iter__(self) -> Iterator[PodRecord]:
        return iter(self._by_uid.values())

    def uids(self) -> frozenset[PodUid]:
        """The uids of all pods."""
        return frozenset(self._by_uid)

    def put(self, pod: PodRecord) -> None:
        """Add a pod, or replace what is known of it."""
        old = self._by_uid.get(pod.uid)
        if old == pod:
            return
        if old is not None:
            self._forget_changed(old, pod)
        self._by_uid[pod.uid] = pod
        self._by_ref.put((pod.namespace, pod.name), pod)
        self._by_name.put(pod.name, pod)
        if pod.node:
            self._by_node.put(pod.node, pod)
        for container_id, _ in pod.containers:
            self._by_container[container_id] = pod
        if old is None or (old.node, old.containers) != (pod.node, pod.containers):
            self._maps.pop(pod.node, None)

    def remove(self, uid: PodUid) -> None:
        """Forget a pod, if it is known."""
        pod = self._by_uid.pop(uid, None)
        if pod is None:
            return
        self._by_ref.remove((pod.namespace, pod.name), uid)
        self._by_name.remove(pod.name, uid)
        self._leave_node(pod)
        self._forget_containers(pod)

    def _forget_changed(self, old: PodRecord, new: PodRecord) -> None:
        """Drop the entries that ``new`` will not overwrite. A pod's names never change."""
        if old.node != new.node:
            self._leave_node(old)
        if old.containers != new.containers:
            self._forget_containers(old)

    def _leave_node(self, pod: PodRecord) -> None:
        self._by_node.remove(pod.node, pod.uid)
        self._maps.pop(pod.node, None)

    def _forget_containers(self, pod: PodRecord) -> None:
        for container_id, _ in pod.containers:
            known = self._by_container.get(container_id)
            if known is not None and known.uid == pod.uid:
                del self._by_container[container_id]

    def by_uid(self, uid: PodUid) -> PodRecord | None:
        """The pod with this uid."""
        return self._by_uid.get(uid)

    def by_ref(self, ref: PodRef) -> PodRecord | None:
        """The pod of this namespace and name; while one replaces another, the newer one."""
        return self._by_ref.newest((ref.namespace, ref.name))

    def named(self, name: str) -> tuple[PodRecord, ...]:
        """The pods of this name, in whatever namespace."""
        return self._by_name.get(name)

    def on(self, node: NodeName) -> tuple[PodRecord, ...]:
        """The pods that are scheduled to this node."""
        return self._by_node.get(node)

    def of_container(self, container_id: ContainerId) -> ContainerOwner | None:
        """Whose container this is."""
        pod = self._by_container.get(container_id)
        if pod is None:
            return None
        name = next(name for known, name in pod.containers if known == container_id)
        return ContainerOwner(pod, name)

    def container_map(self, node: NodeName) -> str:
        """The node's ``{containerID: pod name}`` as a JSON object, encoded once per change."""
        encoded = self._maps.get(node)
        if encoded is None:
            names = {
                container: pod.name for pod in self.on(node) for container, _ in pod.containers
            }
            encoded = _encode_json(names).decode()
            if names:  # an empty one is cheap, and any name may be asked for
                self._maps[node] = encoded
        return encoded
