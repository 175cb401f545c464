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
    "events": ["get", "list", "watch"],
    "leases": ["create", "delete", "get", "list", "update", "watch"],
}

CORE = "v1"
GROUPS = {"leases": "coordination.k8s.io/v1"}
"""resource -> group and version, of those that are not of the core"""

AUTHORIZATION = "authorization.k8s.io/v1"
ACCESS_REVIEWS = "selfsubjectaccessreviews"


def api_version(resource: str) -> str:
    """The apiVersion of a resource's objects."""
    return GROUPS.get(resource, CORE)


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
        "groups": [_group(version) for version in (*GROUPS.values(), AUTHORIZATION)],
    }


def _group(group_version: str) -> Json:
    name, _, version = group_version.partition("/")
    of_version = {"groupVersion": group_version, "version": version}
    return {"name": name, "versions": [of_version], "preferredVersion": of_version}


def resources_of(group_version: str) -> Json:
    """/api/v1, /apis/coordination.k8s.io/v1, ...: what it has."""
    resources = [_resource(each) for each in KINDS if api_version(each) == group_version]
    if group_version == AUTHORIZATION:
        resources = [_access_reviews()]
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


def _access_reviews() -> Json:
    return {
        "name": ACCESS_REVIEWS,
        "singularName": "selfsubjectaccessreview",
        "namespaced": False,
        "kind": "SelfSubjectAccessReview",
        "verbs": ["create"],
    }
