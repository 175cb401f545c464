"""The agent's own Node: what is read of it, and the one patch that makes it carry a report. Pure.

Of a Node of tens of kilobytes only what concerns GPUs' health is decoded: the kubelet writes to it
all the time.
"""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from gpupods.kube.encoding import Resource, is_older
from gpupods.kube.events import Json, api_time
from gpupods.kube.json_encoding import JsonEncoding
from gpupods.kube.objects import Shape
from gpupods.kube.paths import NODES, node_path
from gpupods.node_annotations import HEALTH, OVERRIDES, UNHEALTHY_IDS
from nodeagent.reporting.report import ALL_FIT, Report

CONDITION = "GpuUnfit"
"""The type of the Node's condition: True while a GPU must not be given to anybody."""

SOME_UNFIT_REASON = "SomeGpusUnfit"
ALL_FIT_REASON = "AllGpusFit"

NEEDED = (
    "the agent's role must allow list and watch of nodes and patch of nodes/status, and the "
    "admission policy must know this node from the agent's token"
)


class Condition(Shape, frozen=True):
    """``status.conditions[]``."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class OwnStatus(Shape, frozen=True):
    """``status``."""

    conditions: tuple[Condition, ...] | None = None


class OwnMeta(Shape, frozen=True):
    """``metadata``."""

    uid: str
    name: str
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class OwnNode(Shape, frozen=True):
    """The Node."""

    metadata: OwnMeta
    status: OwnStatus | None = None

    def annotation(self, name: str) -> str | None:
        """Its value; None: it is not there."""
        return (self.metadata.annotations or {}).get(name)

    @property
    def ids(self) -> str | None:
        """The annotation for schedulers."""
        return self.annotation(UNHEALTHY_IDS)

    @property
    def health(self) -> str | None:
        """The annotation with the reasons."""
        return self.annotation(HEALTH)

    @property
    def overrides(self) -> str | None:
        """The annotation with operators' words."""
        return self.annotation(OVERRIDES)

    @property
    def condition(self) -> Condition | None:
        """Ours."""
        conditions = (self.status and self.status.conditions) or ()
        return next((each for each in conditions if each.type == CONDITION), None)

    def replaces(self, known: OwnNode | None) -> bool:
        """Whether this is news to who knows ``known``: a watch may lag behind a write."""
        if known is None or known.metadata.uid != self.metadata.uid:
            return True
        return not is_older(self.metadata.resource_version, known.metadata.resource_version)


def resource_of(node_name: str) -> Resource[OwnNode]:
    """The one Node as something to list and watch."""
    selector = quote(f"metadata.name={node_name}", safe="")
    path = f"{NODES}?fieldSelector={selector}"
    return Resource("own node", path, (JsonEncoding(OwnNode),), NEEDED)


def status_path(node_name: str) -> str:
    """Where the patch goes: what is in ``metadata`` can be written through the status, too."""
    return f"{node_path(node_name)}/status"


def read_node(answer: Json) -> OwnNode:
    """The Node of an answer. Raises msgspec.ValidationError where it is none."""
    return msgspec.convert(answer, OwnNode)


def patch(node: OwnNode, report: Report, now: float) -> Json | None:
    """What has to be merged into ``node`` for it to carry ``report``; None: nothing.

    A Node that never had an unfit GPU gets no condition, so nothing at all.
    """
    wanted = {UNHEALTHY_IDS: report.ids, HEALTH: report.health}
    differ = {name: value for name, value in wanted.items() if node.annotation(name) != value}
    condition = _condition(node.condition, report, now)
    body: Json = {}
    if differ:
        body["metadata"] = {"annotations": differ}
    if condition is not None:
        body["status"] = {"conditions": [condition]}
    return body or None


def parts_of(body: Json) -> list[str]:
    """What a patch changes, by name, for people."""
    names = list(body.get("metadata", {}).get("annotations", {}))
    return names + ([f"condition {CONDITION}"] if "status" in body else [])


def _condition(known: Condition | None, report: Report, now: float) -> Json | None:
    if known is None and not report.unfit:
        return None
    status = "True" if report.unfit else "False"
    reason = SOME_UNFIT_REASON if report.unfit else ALL_FIT_REASON
    message = report.message if report.unfit else ALL_FIT
    if known is not None and (known.status, known.reason, known.message) == (
        status,
        reason,
        message,
    ):
        return None
    written = api_time(now)
    same = known is not None and known.status == status
    since = known.last_transition_time if known is not None and same else None
    return {
        "type": CONDITION,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": written,
        "lastTransitionTime": since or written,
    }
