"""Nodes and pods by the thousand, of the size and shape that clusters have. Pure.

Most of a real pod is not what we read: managedFields, annotations, environment variables,
volumes, conditions. They are here too, as passing over them is part of the work.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

from tests.realparts import objects
from tests.realparts.objects import Json

ENVIRONMENT_VARIABLES = 60
MANAGED_FIELDS = 110
TIME = "2026-01-01T00:00:00Z"
_NAMESPACE = uuid.UUID("8f14e45f-ceea-467f-a0e6-1b9a7d2f1c3a")


def node_name(number: int) -> str:
    """Of the node with this number."""
    return f"gpu-node-{number:04}"


def node(number: int) -> Json:
    """A node with one IPv4 address."""
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    made = objects.node(node_name(number), address)
    made["metadata"]["uid"] = str(uuid.uuid5(_NAMESPACE, f"node-{number}"))
    return made


def pods(count: int, nodes: int, size: int) -> Iterator[Json]:
    """``count`` pods of about ``size`` bytes of JSON, spread over ``nodes`` nodes."""
    for number in range(count):
        yield pod(number, nodes, size)


def pod(number: int, nodes: int, size: int) -> Json:
    """A running pod of a Deployment: a main container and a sidecar."""
    made = _bare(number, nodes)
    padding = size - len(json.dumps(made, separators=(",", ":")))
    if padding > 0:
        made["metadata"]["annotations"]["example.com/configuration"] = "x" * padding
    return made


def _bare(number: int, nodes: int) -> Json:
    group, template_hash = number // 10, f"{number // 10:010x}"
    name = f"training-{group:05}-{template_hash}-{number % 10:05}"
    made = objects.pod(f"team-{group % 50:02}", name, node_name=node_name(number % nodes))
    made["metadata"] |= {
        "uid": str(uuid.uuid5(_NAMESPACE, name)),
        "labels": {"app": f"training-{group:05}", "pod-template-hash": template_hash},
        "annotations": {"kubernetes.io/config.seen": TIME},
        "ownerReferences": [_owner(f"training-{group:05}-{template_hash}")],
        "managedFields": [_managed("kube-controller-manager", ""), _managed("kubelet", "status")],
    }
    made["spec"] |= {
        "containers": [_container("main"), _container("proxy")],
        "volumes": [{"name": f"volume-{one}", "emptyDir": {}} for one in range(8)],
    }
    made["status"] = objects.running(
        *(objects.ContainerStatus(name, _container_id(number, name)) for name in ("main", "proxy"))
    )
    made["status"]["conditions"] = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": TIME}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    return made


def _owner(name: str) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": name,
        "uid": str(uuid.uuid5(_NAMESPACE, name)),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _container_id(number: int, name: str) -> str:
    return uuid.uuid5(_NAMESPACE, f"{number}-{name}").hex * 2


def _container(name: str) -> Json:
    return {
        "name": name,
        "image": f"registry.example.com/research/{name}:2026.11",
        "command": ["/usr/bin/python3", "-m", "train"],
        "env": [
            {"name": f"SETTING_{one:03}", "value": f"value-of-setting-{one:03}-{'v' * 20}"}
            for one in range(ENVIRONMENT_VARIABLES)
        ],
        "volumeMounts": [
            {"name": f"volume-{one}", "mountPath": f"/mnt/volume-{one}"} for one in range(8)
        ],
        "resources": {"limits": {"cpu": "8", "memory": "64Gi"}},
    }


def _managed(manager: str, subresource: str) -> Json:
    fields: Json = {f"f:field-{one:03}": {".": {}, "f:value": {}} for one in range(MANAGED_FIELDS)}
    made = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status" if subresource else "f:spec": fields},
    }
    return made | ({"subresource": subresource} if subresource else {})
