"""One node's rows of the cluster's list, from its agent's answer and from its Node object."""

from __future__ import annotations

from datetime import UTC, datetime

from controller.cache.records import NodeRecord, Owner, PodGpus, PodRecord
from controller.gpus.listing import (
    from_agent,
    from_node_object,
    given_to,
    missing_of,
    not_asked,
)
from gpupods.accounting.request import GpuRequest
from gpupods.identity import NodeName, PodUid
from gpupods.node_annotations import UnfitGpu, UnfitStanding, format_health
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import health_pb2

N1 = NodeName("n1")
SINCE = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
EXCLUDED = UnfitGpu(
    index=2,
    uuid="GPU-c",
    pci_address="00000000:3B:00.0",
    standing=UnfitStanding.EXCLUDED,
    reason="excluded by ada: it gets too hot",
    since=SINCE,
    source="operator",
    who="ada",
    until=datetime(2026, 12, 1, tzinfo=UTC),
)


def node(ids: str | None = None, health: str | None = None) -> NodeRecord:
    return NodeRecord(N1, "u", ("127.0.0.2",), unhealthy_ids=ids, gpu_health=health)


def row(pod: str, mib: int | None, *, uid: str = "") -> pb.PidPods:
    return pb.PidPods(
        pid=1,
        namespace="team",
        pod=pod,
        pod_uid=uid or f"uid-{pod}",
        UsedGpuMemory=mib or 0,
        memory_known=mib is not None,
        owner=pb.Owner(kind="Job", name="train"),
    )


def answered(**gpus: list[pb.PidPods]) -> pb.GetGpuPodsResponse:
    """GPUs a, b, ... with the indexes 0, 1, ...; "bad" in a name makes it unfit."""
    response = pb.GetGpuPodsResponse(node_name=N1)
    response.sample_time.FromDatetime(SINCE)
    for index, (uuid, rows) in enumerate(gpus.items()):
        health = pb.GPU_HEALTH_UNFIT if "bad" in uuid else pb.GPU_HEALTH_FIT
        info = pb.GpuInfo(uuid=uuid, index=index, health=health)
        response.GpuInfos[uuid].CopyFrom(info)
        if rows:
            response.GpuPods[uuid].pidPods.extend(rows)
    return response


def test_gpus_come_by_index_with_their_pods_by_name() -> None:
    response = answered(zeta=[row("web", 10), row("db", 5), row("web", 20)], alpha=[])
    first, second = from_agent(node(), response, {}, only_unfit=False)
    assert (first.node_name, first.info.uuid, second.info.uuid) == ("n1", "zeta", "alpha")
    assert [(pod.name, pod.processes, pod.memory_used) for pod in first.pods] == [
        ("db", 1, 5),
        ("web", 2, 30),
    ]
    assert first.pods[0].owner == pb.Owner(kind="Job", name="train")
    assert first.pods_known
    assert second.pods_known
    assert not second.pods
    assert first.source == health_pb2.GPU_SOURCE_NODE_AGENT
    assert first.sample_time.ToDatetime(tzinfo=UTC) == SINCE


def test_memory_that_is_not_known_of_one_process_is_not_known_of_the_pod() -> None:
    (gpu,) = from_agent(
        node(), answered(a=[row("web", 10), row("web", None)]), {}, only_unfit=False
    )
    assert (gpu.pods[0].memory_used, gpu.pods[0].memory_known) == (10, False)


def test_two_pods_of_one_name_stay_two() -> None:
    rows = [row("web-0", 1, uid="old"), row("web-0", 2, uid="new")]
    (gpu,) = from_agent(node(), answered(a=rows), {}, only_unfit=False)
    assert [pod.uid for pod in gpu.pods] == ["new", "old"]


def test_only_the_unfit_and_those_that_are_announced_as_such() -> None:
    response = answered(a=[], bad=[], c=[])
    gpus = from_agent(node("2"), response, {}, only_unfit=True)
    assert [(gpu.info.index, gpu.info.health, gpu.announced) for gpu in gpus] == [
        (1, pb.GPU_HEALTH_UNFIT, False),
        (2, pb.GPU_HEALTH_FIT, True),
    ]


def test_processes_of_no_pod_are_counted() -> None:
    response = answered(a=[])
    response.unattributed["a"].processes.add()
    response.unattributed["a"].processes.add()
    (gpu,) = from_agent(node(), response, {}, only_unfit=False)
    assert gpu.other_processes == 2


def test_what_runs_on_a_gpu_that_the_driver_cannot_read_is_not_known() -> None:
    response = answered(a=[], b=[], c=[])
    response.missing.add(kind=pb.MISSING_KIND_GPU, subject="a", reason="lost")
    response.missing.add(kind=pb.MISSING_KIND_GPU, subject="gpu 2", reason="lost")
    gpus = from_agent(node(), response, {}, only_unfit=False)
    assert [gpu.pods_known for gpu in gpus] == [False, True, False]


def test_without_the_driver_nothing_is_known_of_any() -> None:
    response = answered(a=[], b=[])
    response.ClearField("sample_time")
    response.missing.add(kind=pb.MISSING_KIND_DRIVER, reason="it hangs")
    gpus = from_agent(node(), response, {}, only_unfit=False)
    assert [gpu.pods_known for gpu in gpus] == [False, False]
    assert not any(gpu.HasField("sample_time") for gpu in gpus)


def test_missing_parts_get_their_node() -> None:
    part = pb.MissingPart(kind=pb.MISSING_KIND_GPU, subject="a", reason="lost")
    (missing,) = missing_of(N1, [part])
    assert (missing.node_name, missing.kind, missing.subject, missing.reason) == (
        "n1",
        pb.MISSING_KIND_GPU,
        "a",
        "lost",
    )


def test_from_the_node_object_what_its_annotations_say_and_no_more() -> None:
    only_index, excluded = from_node_object(node("0,2", format_health([EXCLUDED])), {})
    assert (only_index.info.index, only_index.info.uuid) == (0, "")
    assert "says no more" in only_index.info.health_detail.reason
    detail = excluded.info.health_detail
    assert (excluded.info.index, excluded.info.uuid) == (2, "GPU-c")
    assert (detail.operator, detail.source) == ("ada", "operator")
    assert detail.since.ToDatetime(tzinfo=UTC) == SINCE
    assert detail.until.ToDatetime(tzinfo=UTC) == EXCLUDED.until
    for gpu in (only_index, excluded):
        assert gpu.announced
        assert gpu.info.health == pb.GPU_HEALTH_UNFIT
        assert gpu.source == health_pb2.GPU_SOURCE_NODE_OBJECT
        assert not gpu.pods_known
        assert not gpu.HasField("sample_time")


def pod(name: str, index: str | None, phase: str = "Running") -> PodRecord:
    gpus = PodGpus(GpuRequest(0, 1), index)
    owner = Owner("Job", "train")
    return PodRecord(PodUid(f"uid-{name}"), "team", name, N1, phase, owner=owner, gpus=gpus)


def test_whom_a_scheduler_gave_it_to_is_told_where_the_driver_cannot_tell_who_is_there() -> None:
    asks_for_none = PodRecord(PodUid("u"), "team", "plain", N1, "Running")
    pods = [pod("b", "0,1"), pod("a", "1"), pod("x", "one"), pod("y", None), asks_for_none]
    given = given_to([*pods, pod("done", "1", "Succeeded")])
    assert {index: [each.name for each in told] for index, told in given.items()} == {
        0: ["b"],
        1: ["a", "b"],
    }
    assert given[0][0].owner.name == "train"
    response = answered(g0=[], g1=[])
    first, second = from_agent(node(), response, given, only_unfit=False)
    assert [each.name for each in first.given_to] == ["b"]
    assert [each.name for each in second.given_to] == ["a", "b"]
    (of_object,) = from_node_object(node("1"), given)
    assert [each.name for each in of_object.given_to] == ["a", "b"]


def test_why_a_node_was_not_asked_stands_beside_what_it_says_itself() -> None:
    assert "names GPU 0, 2 as unfit" in not_asked(node("0,2"), "away").reason
    assert not_asked(node(), "away").reason.startswith("away; its Node object names no unfit GPU")
    garbled = not_asked(node("0, x", "{"), "away").reason
    assert "names GPU 0 as unfit" in garbled
    assert "'x' is no index of a GPU" in garbled
    assert "gpupods.io/gpu-health is not what a node agent writes" in garbled
