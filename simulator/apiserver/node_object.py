"""A simulated node, and a namespace, as the Kubernetes API shows them. Pure."""

from __future__ import annotations

import uuid
from typing import Any

from simulator.apiserver.pod_object import Json, timestamp
from simulator.model import SimNode, WallSeconds

KUBELET_VERSION = "v1.37.2"
PODS_PER_NODE = 110


def node_object(node: SimNode, now: WallSeconds) -> Json:
    """The node, whole, but for its resourceVersion, which the store gives."""
    metadata: Json = {
        "name": node.name,
        "uid": node.uid,
        "creationTimestamp": timestamp(node.booted),
        "labels": kubelet_labels(node) | node.labels,
    }
    if node.annotations:
        metadata["annotations"] = dict(node.annotations)
    spec: Json = {"podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24"]}
    if node.unschedulable:
        spec["unschedulable"] = True
        spec["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": spec,
        "status": _status(node, now),
    }


def kubelet_labels(node: SimNode) -> dict[str, str]:
    """The labels that a kubelet gives its node, whoever adds others."""
    return {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": "linux",
    }


def namespace_object(name: str, created: WallSeconds) -> Json:
    """The namespace, but for its resourceVersion."""
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
            "creationTimestamp": timestamp(created),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _status(node: SimNode, now: WallSeconds) -> Json:
    capacity: Json = {
        "cpu": "128",
        "memory": "1056270332Ki",
        "ephemeral-storage": "1843269236Ki",
        "pods": str(PODS_PER_NODE),
    }
    if node.gpus:
        capacity["nvidia.com/gpu"] = str(len(node.gpus))
    capacity |= node.capacity
    return {
        "capacity": capacity,
        "allocatable": capacity | node.allocatable,
        "conditions": _conditions(node, now),
        "addresses": _addresses(node),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": _info(node),
        "images": [],
    }


def _addresses(node: SimNode) -> list[Json]:
    internal = [{"type": "InternalIP", "address": address} for address in node.addresses]
    return [*internal, {"type": "Hostname", "address": node.name}]


def _info(node: SimNode) -> dict[str, Any]:
    return {
        "machineID": node.uid.replace("-", ""),
        "systemUUID": node.uid.replace("-", ""),
        "bootID": node.boot_id,
        "kernelVersion": "6.8.0-60-generic",
        "osImage": "Ubuntu 24.04.2 LTS",
        "containerRuntimeVersion": node.runtime_version,
        "kubeletVersion": KUBELET_VERSION,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


def _conditions(node: SimNode, now: WallSeconds) -> list[Json]:
    beat, since = timestamp(now), timestamp(node.booted)
    known = (
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", *(("True", "KubeletReady") if node.ready else ("Unknown", "NodeStatusUnknown"))),
    )
    kubelets = {
        kind: {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": reason,
            "lastHeartbeatTime": beat,
            "lastTransitionTime": since,
        }
        for kind, status, reason in known
    }
    return list((kubelets | node.conditions).values())
