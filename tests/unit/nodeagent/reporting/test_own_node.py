"""The one patch that makes a Node carry a report, and nothing where it does."""

from __future__ import annotations

from typing import Any

import msgspec

from gpupods.node_annotations import HEALTH, UNHEALTHY_IDS
from nodeagent.reporting.own_node import OwnNode, patch, read_node, resource_of
from nodeagent.reporting.report import Report, report_of
from simulator.apiserver.merging import patched
from tests.unit.nodeagent.reporting.verdicts import fit, unfit

NOW = 1_800_000_000.0
ALL_FIT = report_of([fit(0), fit(1)])
ONE = report_of([fit(0), unfit(1)])
TWO = report_of([unfit(0), unfit(1)])


def node(annotations: dict[str, str] | None = None) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True"}
    metadata = {"name": "n", "uid": "u", "resourceVersion": "7", "annotations": annotations}
    return {"metadata": metadata, "status": {"conditions": [ready]}}


def after(before: dict[str, Any], report: Report, now: float = NOW) -> dict[str, Any]:
    """What an API server makes of it."""
    body = patch(read_node(before), report, now)
    assert body is not None
    return patched(before, body, "application/strategic-merge-patch+json")


def condition(carried: dict[str, Any]) -> dict[str, Any]:
    (ours,) = [each for each in carried["status"]["conditions"] if each["type"] == "GpuUnfit"]
    found: dict[str, Any] = ours
    return found


def test_a_node_without_anything_of_ours_gets_nothing_while_all_are_fit() -> None:
    assert patch(read_node(node()), ALL_FIT, NOW) is None
    assert patch(read_node(node({"other": "x"})), ALL_FIT, NOW) is None
    assert patch(read_node({"metadata": {"name": "n", "uid": "u"}}), ALL_FIT, NOW) is None


def test_all_of_a_report_is_in_one_patch() -> None:
    carried = after(node(), ONE)
    assert carried["metadata"]["annotations"] == {UNHEALTHY_IDS: "1", HEALTH: ONE.health}
    assert condition(carried) == {
        "type": "GpuUnfit",
        "status": "True",
        "reason": "SomeGpusUnfit",
        "message": "GPU 1: XID 79: the GPU has fallen off the bus",
        "lastHeartbeatTime": "2027-01-15T08:00:00Z",
        "lastTransitionTime": "2027-01-15T08:00:00Z",
    }
    assert patch(read_node(carried), ONE, NOW + 60) is None


def test_annotations_go_when_all_are_fit_and_the_condition_turns_false() -> None:
    carried = after(after(node({"other": "x"}), ONE), ALL_FIT, NOW + 60)
    assert carried["metadata"]["annotations"] == {"other": "x"}
    told = condition(carried)
    assert (told["status"], told["reason"]) == ("False", "AllGpusFit")
    assert told["lastTransitionTime"] == "2027-01-15T08:01:00Z"
    assert patch(read_node(carried), ALL_FIT, NOW + 120) is None


def test_the_transition_is_when_the_status_changed_not_its_message() -> None:
    carried = after(after(node(), ONE), TWO, NOW + 60)
    told = condition(carried)
    assert told["message"].count("XID 79") == 2
    assert told["lastTransitionTime"] == "2027-01-15T08:00:00Z"
    assert told["lastHeartbeatTime"] == "2027-01-15T08:01:00Z"


def test_only_what_differs_is_written() -> None:
    carried = after(node(), ONE)
    del carried["metadata"]["annotations"][UNHEALTHY_IDS]
    assert patch(read_node(carried), ONE, NOW) == {
        "metadata": {"annotations": {UNHEALTHY_IDS: "1"}}
    }


def test_a_watch_that_lags_behind_a_write_is_no_news() -> None:
    def at(version: str, uid: str = "u") -> OwnNode:
        return msgspec.convert(
            {"metadata": {"name": "n", "uid": uid, "resourceVersion": version}}, OwnNode
        )

    assert at("7").replaces(None)
    assert at("10").replaces(at("9"))
    assert at("9").replaces(at("9"))
    assert not at("9").replaces(at("10"))
    assert at("9", uid="another").replaces(at("10"))
    assert at("opaque").replaces(at("10"))


def test_one_node_is_followed_whatever_its_name() -> None:
    assert resource_of("a b&c").path == "/api/v1/nodes?fieldSelector=metadata.name%3Da%20b%26c"
