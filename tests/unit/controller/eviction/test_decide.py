"""Which GPUs are emptied, and which pods may be evicted for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.cache.records import NodeRecord
from controller.eviction.decide import (
    EvictionPolicy,
    PodNow,
    UnfitFor,
    due,
    first_seen,
    judge,
    to_leave,
    too_many,
)
from gpupods.identity import NodeName, PodUid
from gpupods.node_annotations import UnfitGpu, UnfitStanding, format_health
from gpupods.v1alpha1 import gpupods_pb2 as pb

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
NOW_S = 1_000.0
N1 = NodeName("n1")
POLICY = EvictionPolicy(after_s=600, excluded=False, per_minute=6, pause_s=60)
EXCLUDED_TOO = EvictionPolicy(after_s=600, excluded=True, per_minute=6, pause_s=60)
UID = PodUid("u1")


def gpu(standing: UnfitStanding, for_s: float | None, index: int = 0) -> UnfitGpu:
    since = None if for_s is None else NOW - timedelta(seconds=for_s)
    return UnfitGpu(index, f"GPU-{index}", "00000000:3B:00.0", standing, "XID 79: lost", since)


def node(*gpus: UnfitGpu) -> NodeRecord:
    return NodeRecord(N1, "uid", ("127.0.0.2",), gpu_health=format_health(gpus))


def known_since(record: NodeRecord, seconds: float) -> Any:
    return first_seen([record], {}, NOW_S - seconds)


@pytest.mark.parametrize(
    ("standing", "for_s", "policy", "is_due"),
    [
        (UnfitStanding.UNFIT, 600, POLICY, True),
        (UnfitStanding.UNFIT, 599, POLICY, False),
        (UnfitStanding.UNFIT, None, POLICY, False),
        (UnfitStanding.UNFIT, -60, POLICY, False),
        (UnfitStanding.RECOVERING, 6000, POLICY, False),
        (UnfitStanding.RECOVERING, 6000, EXCLUDED_TOO, False),
        (UnfitStanding.EXCLUDED, 6000, POLICY, False),
        (UnfitStanding.EXCLUDED, 6000, EXCLUDED_TOO, True),
        (UnfitStanding.UNFIT, 600, EXCLUDED_TOO, True),
    ],
)
def test_a_gpu_is_due(
    standing: UnfitStanding, for_s: float | None, policy: EvictionPolicy, *, is_due: bool
) -> None:
    record = node(gpu(standing, for_s))
    found = due(record, known_since(record, 60), NOW, NOW_S, policy)
    assert bool(found) is is_due


def test_a_node_whose_clock_is_wrong_evicts_nobody_at_once() -> None:
    record = node(gpu(UnfitStanding.UNFIT, 56 * 365 * 86400))
    assert not due(record, {}, NOW, NOW_S, POLICY)
    assert not due(record, known_since(record, 59), NOW, NOW_S, POLICY)
    assert due(record, known_since(record, 60), NOW, NOW_S, POLICY)


def test_a_gpu_that_was_well_meanwhile_is_seen_anew() -> None:
    record = node(gpu(UnfitStanding.UNFIT, 6000))
    seen = first_seen([record], {}, 0.0)
    assert first_seen([record], seen, 50.0) == seen
    recovering = node(gpu(UnfitStanding.RECOVERING, 6000))
    assert first_seen([recovering], seen, 60.0) == {}
    assert list(first_seen([record], {}, 70.0).values()) == [70.0]


def test_what_no_agent_writes_empties_nothing() -> None:
    record = NodeRecord(N1, "uid", (), unhealthy_ids="0", gpu_health="[{")
    assert first_seen([record], {}, 0.0) == {}
    assert due(record, {}, NOW, NOW_S, POLICY) == ()


@pytest.mark.parametrize(
    ("emptied", "with_gpus", "halts"),
    [(1, 1, False), (3, 3, False), (4, 8, False), (5, 8, True), (4, 4, True), (100, 5000, False)],
)
def test_where_half_of_the_cluster_would_be_emptied_nobody_is(
    emptied: int, with_gpus: int, *, halts: bool
) -> None:
    assert too_many(emptied, with_gpus) is halts


DUE = UnfitFor(N1, 0, "GPU-0", NOW - timedelta(seconds=600), "XID 79: lost")


def answered(
    health: pb.GpuHealth.ValueType = pb.GPU_HEALTH_UNFIT, uuid: str = "GPU-0", **detail: Any
) -> pb.GetGpuPodsResponse:
    response = pb.GetGpuPodsResponse()
    info = pb.GpuInfo(uuid=uuid, health=health, health_detail=pb.GpuHealthDetail(**detail))
    response.GpuInfos[uuid].CopyFrom(info)
    response.GpuInfos["GPU-1"].CopyFrom(pb.GpuInfo(uuid="GPU-1", index=1, health=health))
    for on, pod in ((uuid, "web"), (uuid, "web"), (uuid, "db"), ("GPU-1", "other")):
        row = pb.PidPods(namespace="team", pod=pod, pod_uid=f"uid-{pod}")
        response.GpuPods[on].pidPods.append(row)
    response.GpuPods[uuid].pidPods.append(pb.PidPods(pod="of-no-known-namespace"))
    return response


def test_the_pods_on_the_gpu_and_nobody_else_each_once() -> None:
    pods = list(to_leave([DUE], answered(), POLICY))
    assert [(str(pod.ref), pod.uid) for pod in pods] == [
        ("team/web", "uid-web"),
        ("team/db", "uid-db"),
    ]


def test_of_a_gpu_that_tells_nothing_any_more_those_that_it_was_last_seen_with() -> None:
    response = answered()
    del response.GpuPods["GPU-0"]
    for name in ("web", "db"):
        last = pb.LastPod(namespace="team", pod=name, pod_uid=f"uid-{name}")
        response.GpuInfos["GPU-0"].last_pods.append(last)
    assert [pod.uid for pod in to_leave([DUE], response, POLICY)] == ["uid-web", "uid-db"]


def test_where_the_driver_tells_nothing_at_all_nobody_is_to_go() -> None:
    response = answered()
    response.missing.add(kind=pb.MISSING_KIND_GPU, subject="GPU-1")
    assert list(to_leave([DUE], response, POLICY)) != []
    response.missing.add(kind=pb.MISSING_KIND_DRIVER)
    assert list(to_leave([DUE], response, POLICY)) == []


@pytest.mark.parametrize(
    "response",
    [
        answered(pb.GPU_HEALTH_FIT),
        answered(pb.GPU_HEALTH_UNSPECIFIED),
        answered(recovering=True),
        answered(operator="ada"),
        answered(uuid="GPU-another-board"),
        pb.GetGpuPodsResponse(),
    ],
    ids=["fit", "not judged", "recovering", "excluded", "another board", "nothing"],
)
def test_what_the_agent_says_now_counts_and_not_what_it_wrote(
    response: pb.GetGpuPodsResponse,
) -> None:
    assert list(to_leave([DUE], response, POLICY)) == []


def test_an_excluded_gpu_is_emptied_where_that_is_wanted() -> None:
    assert len(list(to_leave([DUE], answered(operator="ada"), EXCLUDED_TOO))) == 2


def pod(**parts: Any) -> PodNow:
    defaults: dict[str, Any] = {
        "uid": UID,
        "phase": "Running",
        "deleting": False,
        "annotations": {},
        "owner": ("ReplicaSet", "web-5d4f8c"),
    }
    return PodNow(**defaults | parts)


@pytest.mark.parametrize(
    "allowed",
    [
        pod(),
        pod(owner=("Job", "train")),
        pod(annotations={"gpupods.io/evict": "allowed"}),
        pod(owner=None, annotations={"gpupods.io/evict": "allowed"}),
    ],
)
def test_a_pod_that_somebody_starts_again_elsewhere_is_evicted(allowed: PodNow) -> None:
    assert judge(allowed, UID) is None


@pytest.mark.parametrize(
    ("left", "why"),
    [
        (pod(annotations={"gpupods.io/evict": "never"}), "its annotation gpupods.io/evict"),
        (pod(annotations={"gpupods.io/evict": "Never"}), "is 'Never': write never or allowed"),
        (pod(annotations={"gpupods.io/evict": "false"}), "is 'false': write never or allowed"),
        (pod(annotations={"gpupods.io/evict": ""}), "is '': write never or allowed"),
        (pod(owner=("Node", "n1"), annotations={"kubernetes.io/config.mirror": "x"}), "static pod"),
        (pod(owner=("DaemonSet", "dcgm")), "start it again on the same node"),
        (pod(owner=None), "no controller would start it again"),
    ],
)
def test_a_pod_is_left_alone_and_that_is_said(left: PodNow, why: str) -> None:
    found = judge(left, UID)
    assert found is not None
    assert why in found.why


@pytest.mark.parametrize(
    "gone",
    [None, pod(uid=PodUid("another")), pod(deleting=True), pod(phase="Succeeded")],
    ids=["gone", "another of its name", "going", "done"],
)
def test_of_a_pod_that_is_gone_or_going_nothing_is_said(gone: PodNow | None) -> None:
    found = judge(gone, UID)
    assert found is not None
    assert found.why == ""
