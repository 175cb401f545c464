"""The way from here to the controller in a cluster: API server, rights, pod, port-forward.

Each step is a check; where one has failed, those behind it are not tried.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpupods.cli.controller_pod import (
    SETUP_LIMIT_S,
    core_api,
    forward_to_controller,
    within,
)
from gpupods.cli.failure import CommandFailed
from gpupods.cli.server_choice import InCluster
from gpupods.diagnosis import Check, Status, failed, ok

API_ACCESS = "API access"
RIGHTS = "your rights"
FORWARD = "port-forward"

REQUEST_LIMIT_S = 10.0

RIGHTS_NEEDED = (
    ("list", "pods", ""),
    ("get", "pods", "portforward"),
    ("create", "pods", "portforward"),
)
"""What a port-forward to the controller takes: verb, resource, subresource."""


@dataclass
class Access:
    """What was found on the way; ``target`` is where to call, None if the way is closed."""

    checks: list[Check] = field(default_factory=list)
    target: str | None = None


@contextlib.contextmanager
def access_to(where: InCluster) -> Iterator[Access]:
    """Go the way; the port-forward is open while inside.

    Raises:
        CommandFailed: there is no way to begin with: no kubeconfig that can be used.
    """
    access = Access()
    api = within(SETUP_LIMIT_S, lambda: core_api(where))
    access.checks += _api_checks(api, where)
    if any(check.status is Status.FAILED for check in access.checks):
        yield access
        return
    try:
        forward = forward_to_controller(where)
    except CommandFailed as error:
        access.checks.append(failed(FORWARD, error.message, error.hint or "see `kubectl get pods`"))
        yield access
        return
    with forward:
        access.checks.append(ok(FORWARD, "to the controller's pod is open"))
        access.target = forward.target
        yield access


def _api_checks(api: Any, where: InCluster) -> list[Check]:
    try:
        return within(SETUP_LIMIT_S, lambda: _ask_api(api, where))
    except CommandFailed as error:
        return [failed(API_ACCESS, error.message, error.hint)]


def _ask_api(api: Any, where: InCluster) -> list[Check]:
    from kubernetes import client  # noqa: PLC0415 - 0.6 s to load
    from kubernetes.client.exceptions import ApiException  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    host = api.api_client.configuration.host
    try:
        version = client.VersionApi(api.api_client).get_code(_request_timeout=REQUEST_LIMIT_S)
        missing = _missing_rights(api.api_client, where)
    except ApiException as error:
        advice = "does `kubectl auth whoami` know you? The kubeconfig's credentials may be old"
        return [failed(API_ACCESS, f"{host} refuses: {error.status} {error.reason}", advice)]
    except HTTPError as error:
        reason = getattr(error, "reason", None) or error
        advice = "does `kubectl get --raw /version` work from here?"
        return [failed(API_ACCESS, f"{host} was not reached: {reason}", advice)]
    reached = ok(API_ACCESS, f"{host} answers: {version.git_version}")
    if missing:
        advice = (
            f"kubectl create rolebinding gpupods-user -n {where.namespace} --role gpupods-user "
            "--user YOU, by somebody who may; or name a controller with --server"
        )
        words = f"you may not {', '.join(missing)} in namespace {where.namespace}"
        return [reached, failed(RIGHTS, words, advice)]
    return [reached, ok(RIGHTS, f"you may open a port-forward in namespace {where.namespace}")]


def _missing_rights(api_client: Any, where: InCluster) -> list[str]:
    from kubernetes import client  # noqa: PLC0415

    reviews = client.AuthorizationV1Api(api_client)
    missing = []
    for verb, resource, subresource in RIGHTS_NEEDED:
        attributes = client.V1ResourceAttributes(
            verb=verb, resource=resource, subresource=subresource, namespace=where.namespace
        )
        spec = client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)
        answer = reviews.create_self_subject_access_review(
            client.V1SelfSubjectAccessReview(spec=spec), _request_timeout=REQUEST_LIMIT_S
        )
        if not answer.status.allowed:
            missing.append(f"{verb} {'/'.join(filter(None, (resource, subresource)))}")
    return missing
