"""Pod and Node, cut down to the fields that are used.

A real pod is 10 to 30 kB of JSON; a decoder passes over what is not named here without making
objects of it. A list that is absent, empty or null means the same.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER


class Shape(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How all of them are made: out of the garbage collector's way, named as Python names."""


class OwnerReference(Shape, frozen=True):
    """``metadata.ownerReferences[]``; ``controller`` marks the one that manages the object."""

    kind: str
    name: str
    controller: bool | None = None


class PodLabels(Shape, frozen=True):
    """The one label that is read: a Deployment puts it on the pods of its ReplicaSets."""

    pod_template_hash: str = msgspec.field(name="pod-template-hash", default="")


class PodAnnotations(Shape, frozen=True):
    """The one annotation that is read: which GPUs a pod was given."""

    gpu_index: str | None = msgspec.field(name=GPU_INDEX, default=None)


class PodMeta(Shape, frozen=True):
    """``metadata`` of a pod."""

    uid: str
    name: str
    namespace: str
    resource_version: str = ""
    owner_references: tuple[OwnerReference, ...] | None = None
    labels: PodLabels | None = None
    annotations: PodAnnotations | None = None


class GpuLimits(Shape, frozen=True):
    """``resources.limits`` of a container, as far as it is about GPUs."""

    memory: str | int | float | None = msgspec.field(name=GPU_MEMORY, default=None)
    number: str | int | float | None = msgspec.field(name=GPU_NUMBER, default=None)


class ResourceRequirements(Shape, frozen=True):
    """``resources`` of a container."""

    limits: GpuLimits | None = None


class Container(Shape, frozen=True):
    """A container as the pod asks for it; ``restartPolicy`` marks a sidecar."""

    resources: ResourceRequirements | None = None
    restart_policy: str | None = None


class PodSpec(Shape, frozen=True):
    """``spec`` of a pod: ``nodeName`` is "" until it is scheduled."""

    node_name: str = ""
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None


class ContainerStateTerminated(Shape, frozen=True):
    """A run of a container that has ended."""

    container_id: str = msgspec.field(name="containerID", default="")


class ContainerState(Shape, frozen=True):
    """``state`` or ``lastState`` of a container."""

    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Shape, frozen=True):
    """A container: ``containerID`` has the runtime's scheme before it, and is "" until it runs."""

    name: str
    container_id: str = msgspec.field(name="containerID", default="")
    state: ContainerState | None = None
    last_state: ContainerState | None = None


ENDED_PHASES = frozenset(("Succeeded", "Failed"))
"""In which a pod runs nothing and uses nothing any more."""


class PodStatus(Shape, frozen=True):
    """``status`` of a pod. Sidecars are among the init containers."""

    phase: str = ""
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    ephemeral_container_statuses: tuple[ContainerStatus, ...] | None = None


class Pod(Shape, frozen=True):
    """A pod."""

    metadata: PodMeta
    spec: PodSpec | None = None
    status: PodStatus | None = None


class NodeAddress(Shape, frozen=True):
    """``type`` is InternalIP, ExternalIP, Hostname and others."""

    type: str
    address: str


class NodeStatus(Shape, frozen=True):
    """``status`` of a node."""

    addresses: tuple[NodeAddress, ...] | None = None
    capacity: dict[str, Any] | None = None


class NodeMeta(Shape, frozen=True):
    """``metadata`` of a node."""

    uid: str
    name: str
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Node(Shape, frozen=True):
    """A node."""

    metadata: NodeMeta
    status: NodeStatus | None = None


class AnyMeta(Shape, frozen=True):
    """``metadata`` of any object, even of a bookmark, which has a version and no name."""

    uid: str = ""
    name: str = ""
    resource_version: str = ""


class AnyObject(Shape, frozen=True):
    """Any object, by its metadata alone."""

    metadata: AnyMeta


class HasMeta(Protocol):
    """What a reflector needs to know of ``metadata``."""

    @property
    def uid(self) -> str:
        """Unique over all time."""

    @property
    def resource_version(self) -> str:
        """The version of the server's store at which this state was written."""


class KubeObject(Protocol):
    """What a reflector needs to know of an object."""

    @property
    def metadata(self) -> HasMeta:
        """Its metadata."""
