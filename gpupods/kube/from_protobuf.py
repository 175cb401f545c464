"""Pod and Node from their protobuf messages to the same values that JSON is decoded into. Pure.

Protobuf has no required fields: an object without a uid and a name is refused here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER
from gpupods.kube.encoding import UndecodableError
from gpupods.kube.objects import (
    Container,
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    GpuLimits,
    Node,
    NodeAddress,
    NodeMeta,
    NodeStatus,
    OwnerReference,
    Pod,
    PodAnnotations,
    PodLabels,
    PodMeta,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from gpupods.kube_api import objects_pb2

TEMPLATE_HASH = "pod-template-hash"
RESOURCES = (GPU_MEMORY, GPU_NUMBER)


def pod_from_protobuf(message: objects_pb2.Pod) -> Pod:
    """Raises UndecodableError."""
    return Pod(
        _pod_meta(message.metadata),
        _pod_spec(message.spec),
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
        PodAnnotations(meta.annotations[GPU_INDEX]) if GPU_INDEX in meta.annotations else None,
    )


def _pod_spec(spec: objects_pb2.PodSpec) -> PodSpec:
    return PodSpec(spec.node_name, _containers(spec.containers), _containers(spec.init_containers))


def _containers(containers: Iterable[objects_pb2.Container]) -> tuple[Container, ...]:
    """Those that ask for GPUs: most pods have none, and a cluster has many pods."""
    asking = []
    for container in containers:
        limits = container.resources.limits
        if GPU_MEMORY in limits or GPU_NUMBER in limits:
            asking.append(
                Container(ResourceRequirements(_gpu_limits(limits)), container.restart_policy)
            )
    return tuple(asking)


def _gpu_limits(limits: Mapping[str, objects_pb2.Quantity]) -> GpuLimits:
    memory, number = (limits[name].string if name in limits else None for name in RESOURCES)
    return GpuLimits(memory, number)


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
