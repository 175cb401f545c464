"""The operator's way to the cluster, with his own credentials: one Node is read and written.

What the words mean is `gpupods.cli.gpu.judge`'s; what goes wrong becomes the command's failures.
"""

from __future__ import annotations

import contextlib
import getpass
import os
from collections.abc import AsyncIterator
from http import HTTPStatus
from urllib.parse import quote

import msgspec

from gpupods.cli.failure import CommandFailed, NoAnswer
from gpupods.cli.gpu.judge import NodeSeen
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import MERGE_PATCH, Json, KubeApi
from gpupods.kube.failures import ApiError, RefusedError, UnreachableError
from gpupods.kube.objects import Shape
from gpupods.kube.paths import NODES, node_path
from gpupods.near_nodes import hint_on_node
from gpupods.node_annotations import OVERRIDES

LIMIT_S = 10.0
"""Of one request."""

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
NAMES_ALONE = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"
"""Whole objects from a server that cannot leave out the rest."""
PAGE = 1000

NEEDED = "get and patch of nodes"


class ChangedMeanwhileError(Exception):
    """Somebody else has written to the Node since it was read."""


@contextlib.asynccontextmanager
async def operator_api(kubeconfig: str | None, context: str | None) -> AsyncIterator[KubeApi]:
    """The API server, by the operator's kubeconfig as kubectl finds it.

    Raises:
        CommandFailed: there is none, or it cannot be used.
    """
    try:
        access = KubeAccess.load(kubeconfig or "", context or "")
    except ValueError as error:
        raise CommandFailed(
            str(error), "an operator's word is written to the Node, with your own kubeconfig"
        ) from error
    api = KubeApi(access)
    try:
        yield api
    finally:
        await api.close()


class _Meta(Shape, frozen=True):
    name: str
    resource_version: str
    annotations: dict[str, str] | None = None


class _Status(Shape, frozen=True):
    capacity: dict[str, str] | None = None


class _Node(Shape, frozen=True):
    metadata: _Meta
    status: _Status | None = None


async def read_node(api: KubeApi, name: str) -> NodeSeen:
    """The Node as it is now.

    Raises:
        CommandFailed: there is no such node, or it may not be read.
        NoAnswer: the API server does not answer.
    """
    try:
        return _seen(await api.ask("GET", node_path(name), limit_s=LIMIT_S))
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            raise await _no_such_node(api, name) from error
        raise _failed(error) from error
    except ApiError as error:
        raise _failed(error) from error


async def write_overrides(api: KubeApi, node: NodeSeen, value: str) -> NodeSeen:
    """Write operators' words to the Node, if nobody has written to it since it was read.

    Raises:
        ChangedMeanwhileError: somebody has.
        CommandFailed: it may not be written.
        NoAnswer: the API server does not answer; the words may be there all the same.
    """
    metadata = {"resourceVersion": node.version, "annotations": {OVERRIDES: value}}
    try:
        answer = await api.ask(
            "PATCH",
            node_path(node.name),
            {"metadata": metadata},
            limit_s=LIMIT_S,
            media_type=MERGE_PATCH,
        )
    except RefusedError as error:
        if error.status == HTTPStatus.CONFLICT:
            raise ChangedMeanwhileError from error
        raise _failed(error) from error
    except ApiError as error:
        raise _failed(error) from error
    return _seen(answer)


def _seen(answer: Json) -> NodeSeen:
    try:
        node = msgspec.convert(answer, _Node)
    except msgspec.ValidationError as error:
        raise NoAnswer(f"the API server's answer is no Node: {error}") from error
    status = node.status or _Status()
    return NodeSeen(
        name=node.metadata.name,
        version=node.metadata.resource_version,
        annotations=node.metadata.annotations or {},
        capacity=status.capacity or {},
    )


async def _no_such_node(api: KubeApi, name: str) -> CommandFailed:
    nodes: list[str] = []
    with contextlib.suppress(ApiError):
        nodes = await node_names(api)
    return CommandFailed(f"the cluster has no node {name!r}", hint_on_node(name, nodes))


async def node_names(api: KubeApi) -> list[str]:
    """The names of all nodes.

    Raises:
        ApiError: they may not be listed, or the API server does not answer.
    """
    names: list[str] = []
    token = ""
    while True:
        query = f"?limit={PAGE}" + (f"&continue={quote(token, safe='')}" if token else "")
        page = await api.ask("GET", NODES + query, limit_s=LIMIT_S, accept=NAMES_ALONE)
        names += [item["metadata"]["name"] for item in page.get("items") or ()]
        token = page.get("metadata", {}).get("continue", "")
        if not token:
            return names


async def own_name(api: KubeApi, kubeconfig: str | None, context: str | None) -> str:
    """Who the API server takes the operator for; else the kubeconfig's user, else this machine's.

    Raises:
        NoAnswer: the API server does not answer.
    """
    question = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        answer = await api.ask("POST", REVIEWS, question, limit_s=LIMIT_S)
    except UnreachableError as error:
        raise _failed(error) from error
    except ApiError:
        answer = {}  # a server of before 1.28, or one that does not say
    user = (answer.get("status") or {}).get("userInfo") or {}
    return str(user.get("username") or "") or _kubeconfig_user(kubeconfig, context) or _os_user()


def _kubeconfig_user(kubeconfig: str | None, context: str | None) -> str:
    from kubernetes import config  # noqa: PLC0415 - slow to load, and seldom needed

    files = kubeconfig or os.environ.get("KUBECONFIG")
    try:
        contexts, active = config.list_kube_config_contexts(files)
    except (config.ConfigException, OSError, KeyError, TypeError):
        return ""  # in a pod there is none
    chosen = [each for each in contexts if each["name"] == context] if context else [active]
    return str(chosen[0].get("context", {}).get("user") or "") if chosen else ""


def _os_user() -> str:
    with contextlib.suppress(KeyError, OSError):
        return getpass.getuser()
    return ""


def _failed(error: ApiError) -> CommandFailed:
    if isinstance(error, RefusedError) and error.status in {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
    }:
        return CommandFailed(
            f"the Kubernetes API server refuses: {error}",
            f"an operator needs {NEEDED}: kubectl auth can-i patch nodes",
        )
    if isinstance(error, RefusedError) and error.is_final:
        return CommandFailed(f"the Kubernetes API server refuses: {error}")
    return NoAnswer(f"the Kubernetes API server did not answer: {error}")
