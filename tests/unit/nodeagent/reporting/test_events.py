"""What events say, and when there are any."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpupods.node_annotations import UnfitGpu
from nodeagent.health.verdict import Standing
from nodeagent.pods_on_gpus import PodOnGpu
from nodeagent.reporting.events import changes_between, node_event, pod_event
from nodeagent.reporting.report import report_of
from tests.unit.nodeagent.reporting.verdicts import excluded, unfit

NOW = 1_800_000_000.0
UNFIT, RECOVERING, EXCLUDED = (
    report_of([verdict]).gpus
    for verdict in (unfit(1), unfit(1, Standing.RECOVERING), excluded(1, until=1.9e9))
)


def told(before: tuple[UnfitGpu, ...], after: tuple[UnfitGpu, ...]) -> dict[str, Any]:
    (change,) = changes_between(before, after)
    return node_event(change, "node-1", "uid-1", NOW)


@pytest.mark.parametrize(
    ("before", "after", "reason", "kind", "message"),
    [
        ((), UNFIT, "GpuUnfit", "Warning", "GPU 1 (GPU-1) is unfit to be given to anybody: XID 79"),
        (UNFIT, RECOVERING, "GpuRecovering", "Normal", "GPU 1 (GPU-1) answers again"),
        (RECOVERING, (), "GpuFit", "Normal", "GPU 1 (GPU-1) is fit again"),
        ((), EXCLUDED, "GpuExcluded", "Normal", "GPU 1 (GPU-1) is given to nobody until 2030"),
        (EXCLUDED, UNFIT, "GpuUnfit", "Warning", "GPU 1 (GPU-1) is unfit"),
    ],
)
def test_each_change_is_an_event_of_the_node(
    before: tuple[UnfitGpu, ...],
    after: tuple[UnfitGpu, ...],
    reason: str,
    kind: str,
    message: str,
) -> None:
    event = told(before, after)
    assert (event["reason"], event["type"]) == (reason, kind)
    assert event["message"].startswith(message)
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Node",
        "name": "node-1",
        "uid": "uid-1",
    }
    assert event["source"] == {"component": "gpupods-nodeagent", "host": "node-1"}


def test_a_pod_hears_what_it_needs_to_know_in_its_own_namespace() -> None:
    (change,) = changes_between((), UNFIT)
    event = pod_event(change, PodOnGpu("team", "train-0", "pod-uid"), "node-1", NOW)
    assert event["metadata"]["namespace"] == event["involvedObject"]["namespace"] == "team"
    assert event["involvedObject"]["uid"] == "pod-uid"
    assert event["message"] == (
        "GPU 1 (GPU-1) of node-1, on which this pod has a process, is unfit to be given to anybody:"
        " XID 79: the GPU has fallen off the bus. The pod stays on it until it ends or is deleted"
    )
    assert told((), UNFIT)["message"].endswith("off the bus. What to do: restart the node")


def test_a_pod_is_spared_what_the_driver_said_to_the_letter_and_not_what_an_operator_did() -> None:
    (gpu,) = UNFIT
    lost = replace_reason(gpu, "lost: gone (nvmlDeviceGetHandleByIndex: NVML_ERROR_GPU_IS_LOST)")
    pod = PodOnGpu("team", "train-0", "pod-uid")
    (change,) = changes_between((), (lost,))
    assert "NVML" not in pod_event(change, pod, "node-1", NOW)["message"]
    (gpu,) = EXCLUDED
    (change,) = changes_between((), (replace_reason(gpu, "excluded by anna: hot (ticket 4711)"),))
    assert "ticket 4711" in pod_event(change, pod, "node-1", NOW)["message"]


def test_the_name_of_an_event_is_one_where_the_pods_is_cut() -> None:
    (change,) = changes_between((), UNFIT)
    pod = PodOnGpu("team", "p" * 199 + "-" + "q" * 50, "pod-uid")
    name = pod_event(change, pod, "node-1", NOW)["metadata"]["name"]
    assert name.startswith("p" * 199 + ".")


def test_another_fault_of_the_same_gpu_is_news_and_another_wording_is_not() -> None:
    (gpu,) = UNFIT
    assert not changes_between(UNFIT, UNFIT)
    assert not changes_between(UNFIT, (replace_reason(gpu, "XID 79: so it is (again)"),))
    lost = report_of([replace(unfit(1), reason="lost: gone", xid=None)]).gpus
    assert len(changes_between(UNFIT, lost)) == 1


def test_another_board_at_an_index_is_two_changes() -> None:
    other = report_of([replace(unfit(1), uuid="GPU-new")]).gpus  # type: ignore[arg-type]
    reasons = [change.reason for change in changes_between(UNFIT, other)]
    assert reasons == ["GpuFit", "GpuUnfit"]


def test_a_message_keeps_within_what_the_api_server_takes() -> None:
    (gpu,) = UNFIT
    event = told((), (replace_reason(gpu, "ä" * 2000),))
    assert len(event["message"].encode()) <= 1024
    long = node_event(changes_between((), UNFIT)[0], "n" * 253, "u", NOW)
    assert len(long["metadata"]["name"]) <= 253


def replace_reason(gpu: UnfitGpu, reason: str) -> UnfitGpu:
    return UnfitGpu(**{**{f: getattr(gpu, f) for f in gpu.__struct_fields__}, "reason": reason})
