"""Kubernetes' events, as `kubectl describe` shows them: the object that is written. Pure."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gpupods.identity import PodRef
from gpupods.logs import shorten

Json = dict[str, Any]

NORMAL, WARNING = "Normal", "Warning"

NODE_NAMESPACE = "default"
"""Where the kubelet, too, writes what concerns a Node."""

MESSAGE_LIMIT = 1000
"""The API server takes 1024 bytes."""


@dataclass(frozen=True, slots=True)
class Teller:
    """Who tells: the program, and the host it runs on."""

    component: str
    host: str


def about_node(name: str, uid: str) -> Json:
    """What an event of a Node is about."""
    return {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}


def about_pod(ref: PodRef, uid: str) -> Json:
    """What an event of a pod is about."""
    names = {"namespace": ref.namespace, "name": ref.name, "uid": uid}
    return {"apiVersion": "v1", "kind": "Pod", **names}


def event(about: Json, teller: Teller, *, kind: str, reason: str, message: str, now: float) -> Json:
    """An event. Its name is its own, so that it is there once however often it is written.

    Args:
        about: Of `about_node` or `about_pod`.
        teller: Who tells.
        kind: `NORMAL` or `WARNING`.
        reason: For machines.
        message: For people; cut where it is too long.
        now: Seconds since the epoch.
    """
    moment = api_time(now)
    name = f"{about['name'][:200].rstrip('-.')}.{secrets.token_hex(8)}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about.get("namespace", NODE_NAMESPACE)},
        "involvedObject": about,
        "reason": reason,
        "message": _cut(message),
        "type": kind,
        "source": {"component": teller.component, "host": teller.host},
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
        "reportingComponent": teller.component,
        "reportingInstance": teller.host,
    }


def api_time(seconds: float) -> str:
    """A time since the epoch as the API has it: whole seconds, in UTC."""
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")


def _cut(message: str) -> str:
    """Within the limit, which counts bytes."""
    shown = shorten(message, MESSAGE_LIMIT)
    return shown.encode()[:MESSAGE_LIMIT].decode(errors="ignore")
