"""What the server says it serves. Pure."""

from __future__ import annotations

from simulator.apiserver.node_object import KUBELET_VERSION
from simulator.apiserver.pod_object import Json

KINDS: dict[str, tuple[str, str, bool, tuple[str, ...]]] = {
    "pods": ("Pod", "PodList", True, ("po",)),
    "nodes": ("Node", "NodeList", False, ("no",)),
    "namespaces": ("Namespace", "NamespaceList", False, ("ns",)),
    "events": ("Event", "EventList", True, ("ev",)),
    "leases": ("Lease", "LeaseList", True, ()),
}
"""resource -> kind, kind of its list, whether it is namespaced, short names"""

VERBS: dict[str, list[str]] = {
    "pods": ["create", "delete", "get", "list", "patch", "watch"],
    "nodes": ["delete", "get", "list", "patch", "watch"],
    "namespaces": ["get", "list", "watch"],
    "events": ["create", "get", "list", "patch", "watch"],
    "leases": ["create", "delete", "get", "list", "update", "watch"],
}

SUBRESOURCES: dict[tuple[str, str], Json] = {
    ("nodes", "status"): {"kind": "Node", "verbs": ["get", "patch"]},
    ("pods", "binding"): {"kind": "Binding", "verbs": ["create"]},
    ("pods", "eviction"): {
        "kind": "Eviction",
        "group": "policy",
        "version": "v1",
        "verbs": ["create"],
    },
}
"""Resource and subresource -> what is said of it."""

CORE = "v1"
EVENTS = "events.k8s.io/v1"
GROUPS = {"leases": ("coordination.k8s.io/v1",), "events": (CORE, EVENTS)}
"""resource -> its groups and versions, of those that are not of the core alone"""

AUTHORIZATION = "authorization.k8s.io/v1"
AUTHENTICATION = "authentication.k8s.io/v1"
REVIEWS = {
    AUTHORIZATION: ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    AUTHENTICATION: ("selfsubjectreviews", "SelfSubjectReview"),
}
"""group and version -> resource and kind of the questions that it answers"""

GROUP_VERSIONS = ("coordination.k8s.io/v1", EVENTS, *REVIEWS)
"""Those besides the core."""


def api_versions_of(resource: str) -> tuple[str, ...]:
    """The groups and versions that have a resource; the first is what it is stored in."""
    return GROUPS.get(resource, (CORE,))


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
    """/apis: those besides the core."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(version) for version in GROUP_VERSIONS],
    }


def _group(group_version: str) -> Json:
    name, _, version = group_version.partition("/")
    of_version = {"groupVersion": group_version, "version": version}
    return {"name": name, "versions": [of_version], "preferredVersion": of_version}


def resources_of(group_version: str) -> Json:
    """/api/v1, /apis/coordination.k8s.io/v1, ...: what it has."""
    if group_version in REVIEWS:
        resources = [_review(*REVIEWS[group_version])]
    else:
        resources = [_resource(each) for each in KINDS if group_version in api_versions_of(each)]
    if group_version == CORE:
        resources += [_subresource(*of, about) for of, about in SUBRESOURCES.items()]
    return {"kind": "APIResourceList", "groupVersion": group_version, "resources": resources}


def _resource(resource: str) -> Json:
    kind, _, namespaced, short = KINDS[resource]
    return {
        "name": resource,
        "singularName": kind.lower(),
        "namespaced": namespaced,
        "kind": kind,
        "verbs": VERBS[resource],
        "shortNames": list(short),
        "categories": ["all"] if resource == "pods" else [],
    }


def _subresource(resource: str, name: str, about: Json) -> Json:
    namespaced = KINDS[resource][2]
    return {"name": f"{resource}/{name}", "singularName": "", "namespaced": namespaced} | about


def _review(resource: str, kind: str) -> Json:
    return {
        "name": resource,
        "singularName": kind.lower(),
        "namespaced": False,
        "kind": kind,
        "verbs": ["create"],
    }
