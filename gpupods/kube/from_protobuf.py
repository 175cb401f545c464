"""Pod and Node from their protobuf messages to the same values that JSON is decoded into. Pure.

Protobuf has no required fields: an object without a uid and a name is refused here.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpupods.kube.encoding import UndecodableError
from gpupods.kube.objects import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Node,
    NodeAddress,
    NodeMeta,
    NodeStatus,
    OwnerReference,
    Pod,
    PodLabels,
    PodMeta,
    PodSpec,
    PodStatus,
)
from gpupods.kube_api import objects_pb2

TEMPLATE_HASH = "pod-template-hash"


def pod_from_protobuf(message: objects_pb2.Pod) -> Pod:
    """Raises UndecodableError."""
    return Pod(
        _pod_meta(message.metadata),
        PodSpec(message.spec.node_name),
        _pod_status(message.status),
    )


def _pod_meta(meta: objects_pb2.ObjectMeta) -> PodMeta:
    if not (meta.uid and meta.name and meta.namespace):
        raise UndecodableError("a pod without uid, name or namespace")
    template_hash = meta.labels.get(TEMPLATE_HASH)
    return PodMeta(
        meta.uid,
        meta.name,
        meta.namespace,
        meta.resource_version,
        tuple(
            OwnerReference(owner.kind, owner.name, owner.controller)
            for owner in meta.owner_references
        ),
        PodLabels(template_hash) if template_hash else None,
    )


def _pod_status(status: objects_pb2.PodStatus) -> PodStatus:
    return PodStatus(
        status.phase,
        _statuses(status.init_container_statuses),
        _statuses(status.container_statuses),
        _statuses(status.ephemeral_container_statuses),
    )


def _statuses(statuses: Iterable[objects_pb2.ContainerStatus]) -> tuple[ContainerStatus, ...]:
    return tuple(
        ContainerStatus(
            status.name,
            status.container_id,
            _terminated(status.state),
            _terminated(status.last_state),
        )
        for status in statuses
    )


def _terminated(state: objects_pb2.ContainerState) -> ContainerState | None:
    container_id = state.terminated.container_id
    return ContainerState(ContainerStateTerminated(container_id)) if container_id else None


def node_from_protobuf(message: objects_pb2.Node) -> Node:
    """Raises UndecodableError."""
    meta, status = message.metadata, message.status
    if not (meta.uid and meta.name):
        raise UndecodableError("a node without uid or name")
    return Node(
        NodeMeta(
            meta.uid,
            meta.name,
            meta.resource_version,
            dict(meta.labels),
            dict(meta.annotations),
        ),
        NodeStatus(
            tuple(NodeAddress(one.type, one.address) for one in status.addresses),
            {name: quantity.string for name, quantity in status.capacity.items()},
        ),
    )
