"""Nodes and pods as JSON, with the status that a kubelet would have written.

Pure: these build values. `kubeapi` sends them, and plays the kubelet for their status.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = dict[str, Any]

StatusField = Literal["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"]


@dataclass(frozen=True)
class PodIdentity:
    """A pod as the labels of its containers name it."""

    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, pod: Mapping[str, Any]) -> PodIdentity:
        """The identity of a pod that the API server has answered with."""
        metadata = pod["metadata"]
        return cls(metadata["namespace"], metadata["name"], metadata["uid"])


@dataclass(frozen=True)
class ContainerStatus:
    """What the kubelet reports of one container; `last_id` is that of its last run."""

    name: str
    container_id: str
    last_id: str | None = None
    runtime: str = "containerd"
    field: StatusField = "containerStatuses"

    def json(self) -> Json:
        started = "2026-01-01T00:00:00Z"
        last = self.last_id and {
            "containerID": f"{self.runtime}://{self.last_id}",
            "exitCode": 1,
            "startedAt": started,
            "finishedAt": started,
        }
        return {
            "name": self.name,
            "containerID": f"{self.runtime}://{self.container_id}",
            "image": "test",
            "imageID": "",
            "ready": True,
            "restartCount": 1 if last else 0,
            "state": {"running": {"startedAt": started}},
            "lastState": {"terminated": last} if last else {},
        }


def node(name: str, *internal_ips: str, annotations: Mapping[str, str] | None = None) -> Json:
    """A node that is ready at these InternalIPs, none to several."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": dict(annotations or {})},
        "status": {
            "addresses": addresses(*internal_ips, hostname=name),
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def addresses(*internal_ips: str, hostname: str) -> list[Json]:
    """The list `status.addresses` of a node."""
    inside = [{"type": "InternalIP", "address": address} for address in internal_ips]
    return [*inside, {"type": "Hostname", "address": hostname}]


def pod(
    namespace: str,
    name: str,
    *,
    node_name: str | None = None,
    containers: Sequence[str] = ("main",),
    init_containers: Sequence[str] = (),
    owner: tuple[str, str] | None = None,
    extra_metadata: Mapping[str, Any] | None = None,
) -> Json:
    """A pod, bound to `node_name` when that is given; `owner` is (kind, name)."""
    metadata: Json = {"namespace": namespace, "name": name, **(extra_metadata or {})}
    if owner is not None:
        metadata["ownerReferences"] = [_controller(*owner)]
    spec: Json = {"containers": [{"name": word, "image": "test"} for word in containers]}
    if init_containers:
        spec["initContainers"] = [{"name": word, "image": "test"} for word in init_containers]
    if node_name is not None:
        spec["nodeName"] = node_name
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def running(*statuses: ContainerStatus) -> Json:
    """The `status` of a running pod with these containers."""
    status: Json = {"phase": "Running"}
    for one in statuses:
        status.setdefault(one.field, []).append(one.json())
    return status


def _controller(kind: str, name: str) -> Json:
    versions = {
        "ReplicaSet": "apps/v1",
        "StatefulSet": "apps/v1",
        "DaemonSet": "apps/v1",
        "Job": "batch/v1",
        "Node": "v1",
    }
    return {
        "apiVersion": versions.get(kind, "example.com/v1"),
        "kind": kind,
        "name": name,
        "uid": f"uid-of-{name}",
        "controller": True,
    }
