"""From an API object to the record that is kept of it. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from controller.cache.owners import owner_of
from controller.cache.records import ContainerOfPod, NodeRecord, PodRecord
from gpupods import node_annotations
from gpupods.identity import NodeName, PodUid, bare_container_id
from gpupods.kube.objects import ContainerStatus, Node, Pod, PodSpec, PodStatus

INTERNAL_IP = "InternalIP"

GPU_RESOURCES = ("nvidia.com/gpu", "volcano.sh/gpu-number")
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
    )


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
    return NodeRecord(
        name=NodeName(sys.intern(node.metadata.name)),
        uid=node.metadata.uid,
        internal_ips=tuple(a.address for a in addresses if a.type == INTERNAL_IP and a.address),
        has_gpus=_has_gpus(node),
        unhealthy_ids=annotations.get(node_annotations.UNHEALTHY_IDS),
        gpu_health=annotations.get(node_annotations.HEALTH),
    )


def _has_gpus(node: Node) -> bool:
    labels = node.metadata.labels or {}
    capacity = (node.status.capacity if node.status else None) or {}
    labelled = any(labels.get(label) == "true" for label in GPU_LABELS)
    return labelled or any(capacity.get(resource, "0") != "0" for resource in GPU_RESOURCES)
