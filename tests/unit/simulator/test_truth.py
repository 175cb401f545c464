"""The truth must notice every kind of wrong answer, else nothing that is held against it counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpupods.identity import ContainerId
from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.changes import (
    delete_pod,
    kill_process,
    restart_container,
    start_host_process,
    start_other_container,
)
from simulator.kinds import ContainerKind
from simulator.model import OwnerReference
from simulator.plans import ProcessPlan, UsePlan
from simulator.truth import Fact, differences, read_answer, true_answer
from tests.unit.simulator.small import Small, small

ON_FIRST = (UsePlan(0, 10),)


def facts(world: Small) -> dict[int, Fact]:
    """By pid, of processes on the first GPU."""
    gpu = world.node.gpus[0].uuid
    told = true_answer(world.cluster, world.node).processes
    return {fact.pid: fact for fact in told if fact.gpu == gpu}


def right_answer(world: Small) -> pb.GetGpuPodsResponse:
    """Written by hand from the small cluster's plan."""
    answer = pb.GetGpuPodsResponse(node_name="gpu-1")
    pod, container = world.pod, world.pod.containers[0]
    first, second, _ = container.processes
    for gpu, process, memory, types in (
        (0, first, 1000, [pb.PROCESS_TYPE_COMPUTE]),
        (1, first, 2000, [pb.PROCESS_TYPE_COMPUTE]),
        (1, second, None, [pb.PROCESS_TYPE_COMPUTE, pb.PROCESS_TYPE_MPS]),
    ):
        row = answer.GpuPods[world.node.gpus[gpu].uuid].pidPods.add(
            pid=process.pid, processName="python", UsedGpuMemory=memory or 0,
            memory_known=memory is not None, pod="resnet-0", namespace="vision",
            pod_uid=pod.uid, container_name="trainer", container_id=container.id,
        )  # fmt: skip
        row.types.extend(types)
        row.start_time.FromNanoseconds(round(process.started * 100) * 10_000_000)
    for gpu_truth, used in zip(world.node.gpus, (1450, 2450), strict=True):
        answer.GpuInfos[gpu_truth.uuid].CopyFrom(
            pb.GpuInfo(
                uuid=gpu_truth.uuid, gpuName="NVIDIA A100-SXM4-80GB", index=gpu_truth.index,
                pci_address=gpu_truth.pci_address, memory_total=81920, memory_used=used,
                memory_known=True, utilization_known=True, mig_mode=pb.MIG_MODE_DISABLED,
            )
        )  # fmt: skip
    return answer


def test_the_right_answer_has_no_differences() -> None:
    world = small()
    told = read_answer(right_answer(world))
    assert differences(true_answer(world.cluster, world.node), told) == []


def _first_row(answer: pb.GetGpuPodsResponse) -> pb.PidPods:
    return next(iter(answer.GpuPods.values())).pidPods[0]


def _set(name: str, value: object) -> Callable[[pb.GetGpuPodsResponse], None]:
    return lambda answer: setattr(_first_row(answer), name, value)


def _drop_row(answer: pb.GetGpuPodsResponse) -> None:
    del next(iter(answer.GpuPods.values())).pidPods[0]


def _move_apart(answer: pb.GetGpuPodsResponse) -> None:
    gpu = next(iter(answer.GpuPods))
    row = answer.GpuPods[gpu].pidPods.pop()
    answer.unattributed[gpu].processes.add(process=row, reason=pb.UNATTRIBUTED_REASON_HOST_PROCESS)


def _forget_gpu(answer: pb.GetGpuPodsResponse) -> None:
    del answer.GpuInfos[next(iter(answer.GpuInfos))]


def _invent_gpu(answer: pb.GetGpuPodsResponse) -> None:
    answer.GpuInfos["GPU-x"].uuid = "GPU-x"


def _busy(answer: pb.GetGpuPodsResponse) -> None:
    next(iter(answer.GpuInfos.values())).usageGpu = 5


def _unknown_utilization(answer: pb.GetGpuPodsResponse) -> None:
    next(iter(answer.GpuInfos.values())).utilization_known = False


def _owner(answer: pb.GetGpuPodsResponse) -> None:
    _first_row(answer).owner.kind = "Job"


def _mig(answer: pb.GetGpuPodsResponse) -> None:
    _first_row(answer).mig.uuid = "MIG-x"


def _types(answer: pb.GetGpuPodsResponse) -> None:
    _first_row(answer).types.append(pb.PROCESS_TYPE_GRAPHICS)


def _start(answer: pb.GetGpuPodsResponse) -> None:
    _first_row(answer).start_time.seconds += 1


def _node(answer: pb.GetGpuPodsResponse) -> None:
    answer.node_name = "gpu-2"


@pytest.mark.parametrize(
    "spoil",
    [
        *(
            _set(name, value)
            for name, value in (
                ("pid", 1), ("processName", "x"), ("UsedGpuMemory", 1), ("memory_known", False),
                ("pod", "x"), ("namespace", "x"), ("pod_uid", "x"), ("container_name", "x"),
                ("container_id", "x"),
            )
        ),
        _drop_row, _move_apart, _forget_gpu, _invent_gpu, _busy, _unknown_utilization, _owner,
        _mig, _types, _start, _node,
    ],
)  # fmt: skip
def test_every_wrong_word_is_noticed(spoil: Callable[[pb.GetGpuPodsResponse], None]) -> None:
    world = small()
    answer = right_answer(world)
    spoil(answer)
    assert differences(true_answer(world.cluster, world.node), read_answer(answer))


def test_whose_a_process_is() -> None:
    world = small()
    cluster, node = world.cluster, world.node
    host = start_host_process(cluster, node, ProcessPlan("Xorg", ON_FIRST), "/user.slice")
    docker, bare = (
        start_other_container(cluster, node, kind, "x", [ProcessPlan("x", ON_FIRST)]).processes[0]
        for kind in (ContainerKind.FOREIGN, ContainerKind.BARE)
    )
    trainer = world.pod.containers[0].processes[0]
    told = facts(world)
    assert told[host.pid].reason == pb.UNATTRIBUTED_REASON_HOST_PROCESS
    assert told[docker.pid].reason == pb.UNATTRIBUTED_REASON_OTHER_RUNTIME
    assert told[bare.pid].reason == pb.UNATTRIBUTED_REASON_UNKNOWN_CONTAINER
    pod = told[trainer.pid].pod
    assert pod is not None
    assert (pod.namespace, pod.name, pod.container) == ("vision", "resnet-0", "trainer")


def test_an_exited_process_has_neither_name_nor_pod() -> None:
    world = small()
    pid = world.pod.containers[0].processes[0].pid
    kill_process(world.node, pid, driver_forgets=False)
    fact = facts(world)[pid]
    assert (fact.pod, fact.name, fact.started) == (None, "", None)
    assert fact.reason == pb.UNATTRIBUTED_REASON_PROCESS_EXITED


def test_of_a_deleted_pod_only_what_stays_is_told() -> None:
    world = small()
    pid = world.pod.containers[0].processes[0].pid
    delete_pod(world.cluster, world.pod, containers_stay=True)
    assert facts(world)[pid].reason == pb.UNATTRIBUTED_REASON_UNKNOWN_CONTAINER


def test_the_last_run_of_a_container_is_the_pods_and_the_one_before_is_not() -> None:
    world = small()
    old = restart_container(world.cluster, world.pod, "trainer", old_lingers=True).last_id
    ids = {fact.pod.container_id for fact in facts(world).values() if fact.pod}
    assert ids == {old, world.pod.containers[0].id}
    restart_container(world.cluster, world.pod, "trainer", old_lingers=True)
    oldest = world.node.containers[ContainerId(str(old))].processes[0]
    assert facts(world)[oldest.pid].reason == pb.UNATTRIBUTED_REASON_UNKNOWN_CONTAINER


@pytest.mark.parametrize(
    ("kind", "name", "labels", "told"),
    [
        ("ReplicaSet", "web-7d9f8", {"pod-template-hash": "7d9f8"}, "Deployment/web"),
        ("ReplicaSet", "web-7d9f8", {}, "ReplicaSet/web-7d9f8"),
        ("ReplicaSet", "web", {"pod-template-hash": "7d9f8"}, "ReplicaSet/web"),
        ("Job", "train", {}, "Job/train"),
    ],
)
def test_owners(kind: str, name: str, labels: dict[str, str], told: str) -> None:
    world = small()
    world.pod.owner = OwnerReference(kind, name, "u")
    world.pod.labels = labels
    assert {fact.pod.owner for fact in facts(world).values() if fact.pod} == {told}
