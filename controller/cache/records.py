"""What is kept of a pod and of a node: a compact, frozen record each. Pure values.

100,000 of them stay in memory, so they hold only what a question needs, and strings that repeat
(namespaces, nodes, container names, owners) are shared; `controller.cache.reading` makes them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import msgspec

from gpupods.accounting.request import GpuRequest
from gpupods.identity import ContainerId, NodeName, PodRef, PodUid

ContainerOfPod: TypeAlias = tuple[ContainerId, str]
"""A container's id and its name in the pod. A plain tuple: a garbage collection skips those."""


class Owner(msgspec.Struct, frozen=True, gc=False):
    """Who made the pod, as people think of it: a ReplicaSet stands as its Deployment."""

    kind: str
    name: str


class PodGpus(msgspec.Struct, frozen=True, gc=False):
    """What a pod asks for, and what it was given.

    Attributes:
        index: The annotation with its GPUs' indexes, as it stands; None: it has none.
        problem: Why the request could not be read; "" where it could.
    """

    request: GpuRequest
    index: str | None = None
    problem: str = ""


class PodRecord(msgspec.Struct, frozen=True, gc=False):
    """A pod.

    Attributes:
        node: "" until the pod is scheduled.
        phase: Kubernetes' own word: Pending, Running, Succeeded, Failed, Unknown.
        containers: Every container id that the pod's status names: of init, sidecar, ordinary and
            ephemeral containers, and of the last terminated run of each. A restarted container's
            name is here twice.
        gpus: None: it asks for none by Volcano's resources.
    """

    uid: PodUid
    namespace: str
    name: str
    node: NodeName
    phase: str
    containers: tuple[ContainerOfPod, ...] = ()
    owner: Owner | None = None
    gpus: PodGpus | None = None

    @property
    def ref(self) -> PodRef:
        """Namespace and name."""
        return PodRef(self.namespace, self.name)


class NodeRecord(msgspec.Struct, frozen=True, gc=False):
    """A node.

    Attributes:
        uid: Changes when a node is deleted and registers again under its name.
        internal_ips: The InternalIP addresses, IPv4 or IPv6, in the order the node gives them.
        unhealthy_ids: The annotation that schedulers obey, as it stands: "0,3"; None: it has none.
        gpu_health: The annotation that says why, as it stands; None: it has none.
        gpu_memory: The capacity of the resource of that name, as it stands; None: it has none.
        gpu_number: The same.
    """

    name: NodeName
    uid: str
    internal_ips: tuple[str, ...] = ()
    has_gpus: bool = False
    unhealthy_ids: str | None = None
    gpu_health: str | None = None
    gpu_memory: str | None = None
    gpu_number: str | None = None


class ContainerOwner(NamedTuple):
    """The pod that a container id belongs to, and the container's name in it."""

    pod: PodRecord
    container_name: str
