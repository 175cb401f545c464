"""The join: every process once, under its pod or apart with its reason."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpupods.identity import ContainerId, GpuUuid, Pid
from nodeagent.containers.identity import Identification, IdentifiedProcess, Unattributed
from nodeagent.containers.runtime import RuntimeContainer
from nodeagent.gpus.sample import (
    Gpu,
    GpuProcess,
    GpuSample,
    MigDevice,
    MigMode,
    Moment,
    ProcessType,
)
from nodeagent.join import GpuRows, join

WEB, DB = ContainerId("a" * 64), ContainerId("b" * 64)


def gpu(index: int, *processes: GpuProcess) -> Gpu:
    uuid = GpuUuid(f"GPU-{index}")
    return Gpu(
        index, uuid, "Tesla", "00000000:01:00.0", None, None, None, MigMode.DISABLED, processes
    )


def on_gpu(pid: int, mig: MigDevice | None = None) -> GpuProcess:
    return GpuProcess(Pid(pid), (ProcessType.COMPUTE,), 1024, mig)


def sample(*gpus: Gpu) -> GpuSample:
    return GpuSample(Moment(0.0, 0.0), gpus)


def identified(*processes: IdentifiedProcess, **labels: RuntimeContainer) -> Identification:
    containers = {container.id: container for container in labels.values()}
    return Identification({process.pid: process for process in processes}, containers)


def in_container(pid: int, container: ContainerId) -> IdentifiedProcess:
    return IdentifiedProcess(Pid(pid), "python", 1.0, container)


def without(pid: int, reason: Unattributed) -> IdentifiedProcess:
    return IdentifiedProcess(Pid(pid), "Xorg", 1.0, None, reason, "cgroup /user.slice")


def test_the_callers_map_names_the_pod() -> None:
    (rows,) = join(sample(gpu(0, on_gpu(7))), identified(in_container(7, WEB)), {WEB: "web-0"})
    assert [(row.pod, row.reason) for row in rows.of_pods] == [("web-0", None)]
    assert rows.of_no_pod == ()


def test_without_a_map_the_runtimes_labels_name_it() -> None:
    web = RuntimeContainer(WEB, pod="web-0", namespace="shop", pod_uid="u", name="main")
    (rows,) = join(sample(gpu(0, on_gpu(7))), identified(in_container(7, WEB), web=web), None)
    (row,) = rows.of_pods
    assert (row.pod, row.container) == ("web-0", web)


def test_an_empty_map_is_not_the_same_as_none() -> None:
    web = RuntimeContainer(WEB, pod="web-0", namespace="shop", name="main")
    (rows,) = join(sample(gpu(0, on_gpu(7))), identified(in_container(7, WEB), web=web), {})
    (row,) = rows.of_no_pod
    assert row.reason is Unattributed.UNKNOWN_CONTAINER
    assert row.detail == f"container {WEB}, labelled as main of pod shop/web-0"


def test_a_process_of_no_container_keeps_its_reason() -> None:
    host = without(7, Unattributed.HOST_PROCESS)
    (rows,) = join(sample(gpu(0, on_gpu(7))), identified(host), {WEB: "web-0"})
    (row,) = rows.of_no_pod
    assert (row.pod, row.reason, row.detail) == (
        "", Unattributed.HOST_PROCESS, "cgroup /user.slice",
    )  # fmt: skip


def test_a_process_on_two_gpus_has_a_row_on_each() -> None:
    first, second = join(
        sample(gpu(0, on_gpu(7)), gpu(1, on_gpu(7))),
        identified(in_container(7, WEB)),
        {WEB: "web-0"},
    )
    assert len(first.of_pods) == len(second.of_pods) == 1


def test_an_idle_gpu_stays() -> None:
    (rows,) = join(sample(gpu(3)), Identification({}, {}), {})
    assert rows == GpuRows(gpu(3), (), ())


def test_rows_are_by_pid_then_mig_device() -> None:
    slices = [MigDevice(1, 0, "MIG-b"), MigDevice(2, 0, "MIG-a")]
    (rows,) = join(
        sample(gpu(0, on_gpu(9), on_gpu(7, slices[0]), on_gpu(7, slices[1]))),
        identified(in_container(7, WEB), in_container(9, DB)),
        {WEB: "web-0", DB: "db-0"},
    )
    assert [(row.process.pid, row.on_gpu.mig and row.on_gpu.mig.uuid) for row in rows.of_pods] == [
        (7, "MIG-a"), (7, "MIG-b"), (9, None),
    ]  # fmt: skip


def test_a_process_that_nobody_identified_is_not_dropped() -> None:
    (rows,) = join(sample(gpu(0, on_gpu(7))), Identification({}, {}), {})
    assert [row.reason for row in rows.of_no_pod] == [Unattributed.UNDETERMINED]


pids = st.integers(1, 20)
containers = st.sampled_from([WEB, DB, None])


@given(
    st.lists(st.lists(pids, unique=True, max_size=8), max_size=4),
    st.dictionaries(pids, containers),
    st.none() | st.dictionaries(st.sampled_from([WEB, DB]), st.sampled_from(["web-0", "db-0"])),
)
def test_every_process_comes_out_exactly_once(
    on_gpus: list[list[int]],
    found: dict[int, ContainerId | None],
    pods: dict[ContainerId, str] | None,
) -> None:
    gpus = [gpu(index, *map(on_gpu, listed)) for index, listed in enumerate(on_gpus)]
    processes = [
        in_container(pid, container) if container else without(pid, Unattributed.HOST_PROCESS)
        for pid, container in found.items()
    ]
    joined = join(sample(*gpus), identified(*processes), pods)
    assert [rows.gpu for rows in joined] == gpus
    for rows in joined:
        out = [*rows.of_pods, *rows.of_no_pod]
        assert sorted(row.on_gpu.pid for row in out) == sorted(p.pid for p in rows.gpu.processes)
        assert all(row.pod and row.reason is None for row in rows.of_pods)
        assert all(not row.pod and row.reason is not None for row in rows.of_no_pod)
