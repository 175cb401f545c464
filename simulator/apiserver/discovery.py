"""What the server says it serves. Pure."""

from __future__ import annotations

from simulator.apiserver.node_object import KUBELET_VERSION
from simulator.apiserver.pod_object import Json

KINDS: dict[str, tuple[str, str, bool, tuple[str, ...]]] = {
    "pods": ("Pod", "PodList", True, ("po",)),
    "nodes": ("Node", "NodeList", False, ("no",)),
    "namespaces": ("Namespace", "NamespaceList", False, ("ns",)),
    "events": ("Event", "EventList", True, ("ev",)),
}
"""resource -> kind, kind of its list, whether it is namespaced, short names"""

VERBS: dict[str, list[str]] = {
    "pods": ["create", "delete", "get", "list", "patch", "watch"],
    "nodes": ["delete", "get", "list", "patch", "watch"],
    "namespaces": ["get", "list", "watch"],
    "events": ["get", "list", "watch"],
}


def version() -> Json:
    """/version."""
    major, minor, _ = KUBELET_VERSION.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"{KUBELET_VERSION}+simulated",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    }


def api_versions(address: str) -> Json:
    """/api."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def api_groups() -> Json:
    """/apis: there are none besides the core."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}


def core_resources() -> Json:
    """/api/v1."""
    return {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {
                "name": resource,
                "singularName": kind.lower(),
                "namespaced": namespaced,
                "kind": kind,
                "verbs": VERBS[resource],
                "shortNames": list(short),
                "categories": ["all"] if resource == "pods" else [],
            }
            for resource, (kind, _, namespaced, short) in KINDS.items()
        ],
    }
