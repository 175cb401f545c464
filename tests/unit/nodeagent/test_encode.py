"""Joined rows as the contract's messages: MiB, unknowns marked, times on the wall clock."""

from __future__ import annotations

from gpupods.identity import ContainerId, GpuUuid, Pid
from gpupods.v1alpha1 import gpupods_pb2 as pb
from nodeagent.containers.identity import Identification, IdentifiedProcess, Unattributed
from nodeagent.containers.runtime import RuntimeContainer
from nodeagent.encode import encode_answer
from nodeagent.gpus.sample import (
    Gpu,
    GpuProcess,
    GpuSample,
    MigDevice,
    MigMode,
    Missing,
    MissingKind,
    Moment,
    ProcessType,
)
from nodeagent.join import join

WEB = ContainerId("a" * 64)
MIB = 1024 * 1024
FIRST, SECOND = GpuUuid("GPU-1"), GpuUuid("GPU-2")


def encode(*gpus: Gpu, missing: tuple[Missing, ...] = ()) -> pb.GetGpuPodsResponse:
    sample = GpuSample(Moment(1_700_000_000.25, 500.0), gpus, missing)
    identification = Identification(
        {
            Pid(7): IdentifiedProcess(Pid(7), "python", 100.5, WEB),
            Pid(8): IdentifiedProcess(
                Pid(8), "", None, None, Unattributed.PROCESS_EXITED, "no such pid"
            ),
        },
        {WEB: RuntimeContainer(WEB, "web-0", "shop", "uid-1", "main")},
    )
    joined = join(sample, identification, {WEB: "web-0"})
    return encode_answer("gpu-1", sample, joined, sample.missing, 1_699_999_500.0)


def busy(processes: tuple[GpuProcess, ...]) -> Gpu:
    memory = 80 * 1024 * MIB
    return Gpu(3, FIRST, "H100", "00000000:3B:00.0", memory, MIB, 99, MigMode.DISABLED, processes)


def test_a_row_in_full() -> None:
    slice_ = MigDevice(2, 1, "MIG-1")
    process = GpuProcess(Pid(7), (ProcessType.COMPUTE, ProcessType.MPS), 5 * MIB + MIB // 2, slice_)
    answer = encode(busy((process,)))
    (row,) = answer.GpuPods[FIRST].pidPods
    assert (row.pid, row.processName, row.pod) == (7, "python", "web-0")
    assert (row.UsedGpuMemory, row.memory_known) == (5, True)
    assert (row.namespace, row.pod_uid, row.container_name) == ("shop", "uid-1", "main")
    assert row.container_id == WEB
    assert list(row.types) == [pb.PROCESS_TYPE_COMPUTE, pb.PROCESS_TYPE_MPS]
    assert (row.mig.gpu_instance_id, row.mig.compute_instance_id, row.mig.uuid) == (2, 1, "MIG-1")
    assert row.start_time.ToJsonString() == "2023-11-14T22:06:40.500Z"
    assert not row.HasField("owner")


def test_unknown_memory_is_not_zero() -> None:
    answer = encode(busy((GpuProcess(Pid(7), (ProcessType.COMPUTE,), None),)))
    (row,) = answer.GpuPods[FIRST].pidPods
    assert (row.UsedGpuMemory, row.memory_known) == (0, False)


def test_a_gpu_in_full() -> None:
    info = encode(busy(())).GpuInfos[FIRST]
    assert (info.uuid, info.gpuName, info.usageGpu, info.index) == (FIRST, "H100", 99, 3)
    assert (info.memory_total, info.memory_used, info.memory_known) == (81920, 1, True)
    assert (info.utilization_known, info.mig_mode) == (True, pb.MIG_MODE_DISABLED)
    assert (info.pci_address, info.health) == ("00000000:3B:00.0", pb.GPU_HEALTH_UNSPECIFIED)


def test_a_gpu_of_which_little_is_known_stays_in_the_answer() -> None:
    gpu = Gpu(0, SECOND, "", "", None, None, None, MigMode.UNKNOWN, ())
    answer = encode(gpu)
    info = answer.GpuInfos[SECOND]
    assert not info.utilization_known
    assert not info.memory_known
    assert SECOND not in answer.GpuPods


def test_a_process_of_no_pod_stands_apart_with_its_reason() -> None:
    answer = encode(busy((GpuProcess(Pid(8), (ProcessType.GRAPHICS,), MIB),)))
    assert FIRST not in answer.GpuPods
    (apart,) = answer.unattributed[FIRST].processes
    assert apart.reason == pb.UNATTRIBUTED_REASON_PROCESS_EXITED
    assert (apart.process.pid, apart.process.UsedGpuMemory, apart.detail) == (8, 1, "no such pid")
    assert not apart.process.HasField("start_time")


def test_what_is_missing_and_when_it_was_sampled() -> None:
    answer = encode(missing=(Missing(MissingKind.GPU, "gpu 3", "lost"),))
    (part,) = answer.missing
    assert (part.kind, part.subject, part.reason) == (pb.MISSING_KIND_GPU, "gpu 3", "lost")
    assert answer.sample_time.ToJsonString() == "2023-11-14T22:13:20.250Z"
    assert answer.node_name == "gpu-1"


def test_times_show_no_noise_of_floats() -> None:
    sample = GpuSample(Moment(1_796_032_291.12, 0.0), ())
    answer = encode_answer("gpu-1", sample, (), (), 0.0)
    assert answer.sample_time.ToJsonString() == "2026-11-30T09:51:31.120Z"


def test_numbers_are_the_contracts() -> None:
    for ours, theirs in [
        (ProcessType, pb.ProcessType),
        (MigMode, pb.MigMode),
        (MissingKind, pb.MissingKind),
        (Unattributed, pb.UnattributedReason),
    ]:
        names = {int(value): name for name, value in theirs.items()}
        for member in ours:
            shared = member.name if member.name != "UNKNOWN" else "UNSPECIFIED"
            assert names[int(member)].endswith("_" + shared)
