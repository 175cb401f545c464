"""Compares an answer with the truth in full. Pure.

Three things cannot be foretold to the letter and are held apart: when the sample was taken, the
fraction of a second in start times, and the wording of what was seen of a process without a pod.
What is judged of the GPUs' health, and when, is the matter of other tests.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.json_format import MessageToDict

from gpupods.v1alpha1 import gpupods_pb2 as pb

START_TOLERANCE_S = 1.0

Json = dict[str, Any]


def assert_is(answer: pb.GetGpuPodsResponse, truth: pb.GetGpuPodsResponse) -> None:
    """Fail, with the difference, unless `answer` is `truth`."""
    assert answer.HasField("sample_time") or answer.missing, "whole, but without a sample time"
    assert as_json(aligned(answer, truth)) == as_json(truth)


def is_same(answer: pb.GetGpuPodsResponse, truth: pb.GetGpuPodsResponse) -> bool:
    return as_json(aligned(answer, truth)) == as_json(truth)


def as_json(message: pb.GetGpuPodsResponse) -> Json:
    """The message with every field shown, for pytest to tell a difference."""
    shown: Json = MessageToDict(message, always_print_fields_with_no_presence=True)
    return shown


def aligned(answer: pb.GetGpuPodsResponse, truth: pb.GetGpuPodsResponse) -> pb.GetGpuPodsResponse:
    """`answer` with the truth's words and times where its own say the same."""
    copy = pb.GetGpuPodsResponse()
    copy.CopyFrom(answer)
    copy.ClearField("sample_time")
    for info in copy.GpuInfos.values():
        clear_health(info)
    for gpu, pods in copy.GpuPods.items():
        if gpu in truth.GpuPods:
            for row, true_row in zip(pods.pidPods, truth.GpuPods[gpu].pidPods, strict=False):
                _align_start(row, true_row)
    for gpu, others in copy.unattributed.items():
        if gpu in truth.unattributed:
            for other, true_other in zip(
                others.processes, truth.unattributed[gpu].processes, strict=False
            ):
                _align_start(other.process, true_other.process)
                if true_other.detail in other.detail:
                    other.detail = true_other.detail
    return copy


def clear_health(info: pb.GpuInfo) -> None:
    """Take out whatever is said of the GPU's health, and of who was last on it."""
    for field in info.DESCRIPTOR.fields:
        if field.name.startswith(("health", "last_pods")):
            info.ClearField(field.name)  # type: ignore[arg-type]  # the stub wants literals


def _align_start(row: pb.PidPods, true_row: pb.PidPods) -> None:
    if not row.HasField("start_time") or not true_row.HasField("start_time"):
        return
    apart_ns = row.start_time.ToNanoseconds() - true_row.start_time.ToNanoseconds()
    if abs(apart_ns) < START_TOLERANCE_S * 1e9:
        row.start_time.CopyFrom(true_row.start_time)


def missing_parts(answer: pb.GetGpuPodsResponse) -> list[tuple[str, str, str]]:
    """Kind, subject and reason of each missing part."""
    return [
        (pb.MissingKind.Name(part.kind).removeprefix("MISSING_KIND_"), part.subject, part.reason)
        for part in answer.missing
    ]


def without_missing(answer: pb.GetGpuPodsResponse) -> pb.GetGpuPodsResponse:
    """The answer as if it were whole."""
    copy = pb.GetGpuPodsResponse()
    copy.CopyFrom(answer)
    copy.ClearField("missing")
    return copy
