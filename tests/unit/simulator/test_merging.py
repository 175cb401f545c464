from __future__ import annotations

import pytest

from gpupods.kube.api import MERGE_PATCH, STRATEGIC_MERGE
from simulator.apiserver.merging import patched
from simulator.apiserver.pod_object import Json
from simulator.apiserver.status import StatusError

READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
NODE: Json = {"metadata": {"annotations": {"a": "b"}}, "status": {"conditions": [READY]}}
UNFIT = {"type": "GpuUnfit", "status": "True"}


def test_a_merge_patch_replaces_lists_and_null_takes_away() -> None:
    change = {"metadata": {"annotations": {"a": None, "c": "d"}}, "status": {"conditions": [UNFIT]}}
    assert patched(NODE, change, MERGE_PATCH) == {
        "metadata": {"annotations": {"c": "d"}},
        "status": {"conditions": [UNFIT]},
    }
    assert NODE["metadata"]["annotations"] == {"a": "b"}


def test_a_merge_patch_makes_what_is_not_there_without_the_nulls() -> None:
    assert patched({}, {"a": {"b": None, "c": {"d": 1}}}, MERGE_PATCH) == {"a": {"c": {"d": 1}}}


def test_a_strategic_patch_merges_conditions_by_their_type() -> None:
    change = {"status": {"conditions": [UNFIT, {"type": "Ready", "reason": "Other"}]}}
    assert patched(NODE, change, STRATEGIC_MERGE)["status"]["conditions"] == [
        READY | {"reason": "Other"},
        UNFIT,
    ]


def test_directives_of_a_strategic_patch() -> None:
    gone = {"$patch": "delete", "type": "Ready"}
    order = [{"type": "GpuUnfit"}]
    change = {"status": {"$setElementOrder/conditions": order, "conditions": [gone, UNFIT]}}
    assert patched(NODE, change, STRATEGIC_MERGE)["status"] == {"conditions": [UNFIT]}
    whole = {"metadata": {"annotations": {"$patch": "replace", "c": "d"}}}
    assert patched(NODE, whole, STRATEGIC_MERGE)["metadata"] == {"annotations": {"c": "d"}}
    others = {"status": {"conditions": [UNFIT, {"$patch": "replace"}]}}
    assert patched(NODE, others, STRATEGIC_MERGE)["status"] == {"conditions": [UNFIT]}


@pytest.mark.parametrize(
    ("change", "media_type", "code"),
    [
        ([], MERGE_PATCH, 400),
        ({}, "application/json", 415),
        ([], "application/json-patch+json", 415),
        ({"status": {"conditions": [{"status": "True"}]}}, STRATEGIC_MERGE, 422),
        ({"status": {"conditions": ["Ready"]}}, STRATEGIC_MERGE, 422),
    ],
)
def test_what_is_no_patch_is_refused(change: object, media_type: str, code: int) -> None:
    with pytest.raises(StatusError) as raised:
        patched(NODE, change, media_type)
    assert raised.value.code == code
