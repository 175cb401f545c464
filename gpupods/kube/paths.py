"""Where objects are under an API server's address. Names are quoted: not all come from it."""

from __future__ import annotations

from urllib.parse import quote

from gpupods.identity import PodRef

NODES = "/api/v1/nodes"


def node_path(name: str) -> str:
    """One Node."""
    return f"{NODES}/{_quoted(name)}"


def pod_path(ref: PodRef) -> str:
    """One pod."""
    return f"{_namespace(ref.namespace)}/pods/{_quoted(ref.name)}"


def events_path(namespace: str) -> str:
    """The events of a namespace."""
    return f"{_namespace(namespace)}/events"


def _namespace(name: str) -> str:
    return f"/api/v1/namespaces/{_quoted(name)}"


def _quoted(name: str) -> str:
    return quote(name, safe="")
