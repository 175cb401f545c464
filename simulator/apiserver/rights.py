"""What those who ask may do: everything, but for what a test takes away from them."""

from __future__ import annotations

from typing import Any

from simulator.apiserver.pod_object import Json
from simulator.apiserver.requests import Target
from simulator.apiserver.status import forbidden, invalid

USER = "simulated"
"""Whoever asks."""

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

Right = tuple[str, str]
"""A verb and a resource: ("list", "pods"), ("create", "pods/portforward")."""


def verb_of(method: str, target: Target, *, watching: bool) -> str:
    """The verb that Kubernetes' access control knows a request by."""
    if method in VERBS:
        return VERBS[method]
    if watching:
        return "watch"
    return "get" if target.name else "list"


def check(denied: set[Right], verb: str, resource: str) -> None:
    """Refuse what was taken away.

    Raises:
        StatusError: 403.
    """
    if (verb, resource) in denied:
        raise forbidden(
            f'{resource} is forbidden: User "{USER}" cannot {verb} resource "{resource}"'
        )


def review(denied: set[Right], body: Any) -> Json:
    """Answer a SelfSubjectAccessReview.

    Raises:
        StatusError: 422, it is none.
    """
    try:
        asked = body["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource", ""))))
        verb = asked["verb"]
    except (KeyError, TypeError, AttributeError) as error:
        raise invalid(f"this is not a SelfSubjectAccessReview: {error!r}") from error
    allowed = (verb, resource) not in denied
    status = {"allowed": allowed, "reason": "" if allowed else "taken away (simulated)"}
    return {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": body["spec"],
        "status": status,
    }


def who_is_it() -> Json:
    """Answer a SelfSubjectReview."""
    return {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": None},
        "status": {"userInfo": {"username": USER, "groups": ["system:authenticated"]}},
    }
