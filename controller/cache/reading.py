"""From an API object to the record that is kept of it. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from controller.cache.owners import owner_of
from controller.cache.records import ContainerOfPod, NodeRecord, PodGpus, PodRecord
from gpupods import node_annotations
from gpupods.accounting.names import GPU_MEMORY, GPU_NUMBER
from gpupods.accounting.request import NOTHING, ContainerLimits, request_of
from gpupods.identity import NodeName, PodUid, bare_container_id
from gpupods.kube.objects import ContainerStatus, Node, Pod, PodSpec, PodStatus

INTERNAL_IP = "InternalIP"

GPU_RESOURCES = ("nvidia.com/gpu", GPU_NUMBER)
GPU_LABELS = (
    "nvidia.com/gpu.present",
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
    "feature.node.kubernetes.io/pci-0300_10de.present",
    "gpupods.io/gpu",
)
"""Those by which manifests/base/nodeagent/daemonset.yaml chooses nodes."""

_NO_SPEC = PodSpec()
_NO_STATUS = PodStatus()


def pod_record(pod: Pod) -> PodRecord:
    """What is kept of a pod. Strings that many pods share are shared."""
    metadata = pod.metadata
    spec = pod.spec or _NO_SPEC
    status = pod.status or _NO_STATUS
    labels = metadata.labels
    return PodRecord(
        uid=PodUid(metadata.uid),
        namespace=sys.intern(metadata.namespace),
        name=metadata.name,
        node=NodeName(sys.intern(spec.node_name)),
        phase=sys.intern(status.phase),
        containers=tuple(dict.fromkeys(_containers(status))),
        owner=owner_of(metadata.owner_references or (), labels.pod_template_hash if labels else ""),
        gpus=pod_gpus(pod),
    )


def pod_gpus(pod: Pod) -> PodGpus | None:
    """What the pod asks for and was given; None if it asks for no GPUs."""
    limits = tuple(_limits(pod.spec or _NO_SPEC))
    if not limits:
        return None
    try:
        request = request_of(limits)
    except ValueError as error:
        return PodGpus(NOTHING, problem=str(error))
    if request == NOTHING:
        return None
    annotations = pod.metadata.annotations
    return PodGpus(request, annotations.gpu_index if annotations else None)


def _limits(spec: PodSpec) -> Iterator[ContainerLimits]:
    for init, containers in ((True, spec.init_containers), (False, spec.containers)):
        for container in containers or ():
            limits = container.resources.limits if container.resources else None
            if limits is not None:
                sidecar = init and container.restart_policy == "Always"
                yield ContainerLimits(limits.memory, limits.number, init, sidecar)


def _containers(status: PodStatus) -> Iterator[ContainerOfPod]:
    for statuses in (
        status.init_container_statuses,
        status.container_statuses,
        status.ephemeral_container_statuses,
    ):
        for container in statuses or ():
            for container_id in map(bare_container_id, _ids(container)):
                # "docker://" has been seen. An agent refuses a map with an id that can be none.
                if container_id and container_id.isprintable():
                    yield container_id, sys.intern(container.name)


def _ids(container: ContainerStatus) -> Iterator[str]:
    """The present run first, then runs that have ended: they may hold a GPU for a moment yet."""
    yield container.container_id
    for state in (container.state, container.last_state):
        if state is not None and state.terminated is not None:
            yield state.terminated.container_id


def node_record(node: Node) -> NodeRecord:
    """What is kept of a node."""
    addresses = (node.status.addresses if node.status else None) or ()
    annotations = node.metadata.annotations or {}
    capacity = (node.status.capacity if node.status else None) or {}
    return NodeRecord(
        name=NodeName(sys.intern(node.metadata.name)),
        uid=node.metadata.uid,
        internal_ips=tuple(a.address for a in addresses if a.type == INTERNAL_IP and a.address),
        has_gpus=_has_gpus(node),
        unhealthy_ids=annotations.get(node_annotations.UNHEALTHY_IDS),
        gpu_health=annotations.get(node_annotations.HEALTH),
        gpu_memory=capacity.get(GPU_MEMORY),
        gpu_number=capacity.get(GPU_NUMBER),
    )


def _has_gpus(node: Node) -> bool:
    labels = node.metadata.labels or {}
    capacity = (node.status.capacity if node.status else None) or {}
    labelled = any(labels.get(label) == "true" for label in GPU_LABELS)
    return labelled or any(capacity.get(resource, "0") != "0" for resource in GPU_RESOURCES)
