"""Which rights the controller needs, and whether the API server says that it has them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from controller.leader.candidate import own_namespace
from controller.settings import ControllerSettings
from gpupods.kube.api import KubeApi
from gpupods.kube.failures import MalformedError

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one resource; an empty namespace is all of them, an empty name any."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        """For people: "update leases gpupods-controller in namespace gpupods-system"."""
        of = f"/{self.subresource}" if self.subresource else ""
        named = f" {self.name}" if self.name else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{of}{named}{where}"


def needed_rights(settings: ControllerSettings, lease_namespace: str) -> tuple[Right, ...]:
    """Those without which something does not work."""
    rights = [Right(verb, resource) for resource in ("pods", "nodes") for verb in ("list", "watch")]
    if settings.leader_elect:
        group = "coordination.k8s.io"
        rights.append(Right("create", "leases", group, lease_namespace))
        rights += [
            Right(verb, "leases", group, lease_namespace, settings.lease_name)
            for verb in ("get", "update")
        ]
    if settings.evict_after:
        rights += [
            Right("get", "pods"),
            Right("create", "pods", subresource="eviction"),
            Right("create", "events"),
        ]
    if settings.scheduler_extender:
        rights.append(Right("create", "pods", subresource="binding"))
        if settings.leader_elect:
            rights.append(Right("get", "pods", namespace=own_namespace()))
    return tuple(rights)


async def missing_rights(api: KubeApi, rights: Sequence[Right], limit_s: float) -> list[Right]:
    """Those of ``rights`` that the API server says we do not have.

    Raises:
        ApiError: it does not say.
    """
    allowed = await asyncio.gather(*(_is_allowed(api, right, limit_s) for right in rights))
    return [right for right, is_allowed in zip(rights, allowed, strict=True) if not is_allowed]


async def _is_allowed(api: KubeApi, right: Right, limit_s: float) -> bool:
    attributes = {
        "verb": right.verb,
        "resource": right.resource,
        "group": right.group,
        "namespace": right.namespace,
        "name": right.name,
        "subresource": right.subresource,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await api.ask("POST", REVIEWS, body, limit_s=limit_s)
    try:
        return bool(answer["status"]["allowed"])
    except (KeyError, TypeError) as error:
        raise MalformedError(f"POST {REVIEWS}: the answer has no status.allowed") from error
