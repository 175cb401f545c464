"""Realistic answers of a controller, for the client and the command."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp

from gpupods.v1alpha1 import gpupods_pb2 as pb

SAMPLED = Timestamp(seconds=1796029200, nanos=250_000_000)
STARTED = Timestamp(seconds=1796000000)
GPU0 = "GPU-0a1b2c3d-0000-4000-8000-000000000000"
GPU1 = "GPU-0a1b2c3d-0000-4000-8000-000000000001"
GPU2 = "GPU-0a1b2c3d-0000-4000-8000-000000000002"
GPU3 = "GPU-0a1b2c3d-0000-4000-8000-000000000003"
MIG = "MIG-5e6f7a8b-0000-4000-8000-000000000000"
TRAIN_UID = "11111111-2222-4333-8444-555555555555"


def a100(uuid: str, index: int, *, used: int, usage: int | None) -> pb.GpuInfo:
    """A GPU of 80 GiB; ``usage`` None: not supported, as on a GPU split by MIG."""
    return pb.GpuInfo(
        uuid=uuid,
        gpuName="NVIDIA A100-SXM4-80GB",
        usageGpu=usage or 0,
        utilization_known=usage is not None,
        index=index,
        pci_address=f"00000000:{0x3B + index:02X}:00.0",
        memory_total=81920,
        memory_used=used,
        memory_known=True,
        mig_mode=pb.MIG_MODE_DISABLED if usage is not None else pb.MIG_MODE_ENABLED,
    )


def train(pid: int, memory_mib: int, rank: int = 0) -> pb.PidPods:
    """A process of the training job that most tests ask about."""
    return pb.PidPods(
        pid=pid,
        processName="python",
        UsedGpuMemory=memory_mib,
        memory_known=True,
        pod=f"train-{rank}",
        namespace="team-a",
        pod_uid=TRAIN_UID if rank == 0 else f"{rank:08}{TRAIN_UID[8:]}",
        container_name="trainer",
        container_id="3f2a9c" + "0" * 58,
        owner=pb.Owner(kind="Job", name="train"),
        start_time=STARTED,
        types=[pb.PROCESS_TYPE_COMPUTE],
    )


def busy_node() -> pb.GetGpuPodsResponse:
    """Four GPUs: shared and reconciled, MIG, memory not known, idle."""
    response = pb.GetGpuPodsResponse(node_name="gpu-node-1", sample_time=SAMPLED)
    response.GpuInfos[GPU0].CopyFrom(a100(GPU0, 0, used=62054, usage=93))
    response.GpuInfos[GPU1].CopyFrom(a100(GPU1, 1, used=10240, usage=None))
    response.GpuInfos[GPU2].CopyFrom(a100(GPU2, 2, used=20480, usage=0))
    response.GpuInfos[GPU3].CopyFrom(a100(GPU3, 3, used=0, usage=0))
    response.GpuPods[GPU0].pidPods.extend([train(4711, 61440), notebook(5120)])
    response.GpuPods[GPU1].pidPods.append(mig_server(6001))
    response.GpuPods[GPU2].pidPods.append(unknown_memory(7001))
    response.unattributed[GPU0].processes.append(host_process(991))
    return response


def notebook(pid: int) -> pb.PidPods:
    """A pod that stands alone: it has no owner."""
    return pb.PidPods(
        pid=pid,
        processName="python3.11",
        UsedGpuMemory=38,
        memory_known=True,
        pod="notebook",
        namespace="research",
        container_name="jupyter",
        types=[pb.PROCESS_TYPE_COMPUTE, pb.PROCESS_TYPE_GRAPHICS],
    )


def mig_server(pid: int) -> pb.PidPods:
    """A process on one MIG device."""
    return pb.PidPods(
        pid=pid,
        processName="tritonserver",
        UsedGpuMemory=10240,
        memory_known=True,
        pod="triton-7d9f8-x2x4q",
        namespace="serving",
        container_name="triton",
        owner=pb.Owner(kind="Deployment", name="triton"),
        types=[pb.PROCESS_TYPE_MPS],
        mig=pb.MigInstance(gpu_instance_id=2, compute_instance_id=0, uuid=MIG),
    )


def unknown_memory(pid: int) -> pb.PidPods:
    """What a driver that tells little leaves of a process, in a pod without known namespace."""
    return pb.PidPods(pid=pid, pod="legacy")


def host_process(pid: int) -> pb.UnattributedProcess:
    """A process in no container."""
    return pb.UnattributedProcess(
        process=pb.PidPods(
            pid=pid,
            processName="Xorg",
            UsedGpuMemory=64,
            memory_known=True,
            types=[pb.PROCESS_TYPE_GRAPHICS],
        ),
        reason=pb.UNATTRIBUTED_REASON_HOST_PROCESS,
        detail="cgroup /system.slice/gdm.service",
    )


def partial() -> pb.GetGpuPodsResponse:
    """A node of which a GPU, a container and the cluster's knowledge could not be asked."""
    response = pb.GetGpuPodsResponse(node_name="gpu-node-2", sample_time=SAMPLED)
    response.GpuInfos[GPU0].CopyFrom(a100(GPU0, 0, used=512, usage=7))
    response.GpuPods[GPU1].pidPods.append(train(4711, 512))
    response.missing.add(
        kind=pb.MISSING_KIND_GPU, subject="gpu 1", reason="it has fallen off the bus"
    )
    response.missing.add(
        kind=pb.MISSING_KIND_CONTAINER,
        subject="3f2a9c",
        reason="its shim did not answer\nwithin 2 s",
    )
    return response


def hostile() -> pb.GetGpuPodsResponse:
    """Names that would clear the screen, hide a row, or turn the text around."""
    response = pb.GetGpuPodsResponse(node_name="node\x1b[2J", sample_time=SAMPLED)
    info = a100(GPU0, 0, used=100, usage=1)
    info.gpuName = "GPU\x9b31m"
    response.GpuInfos[GPU0].CopyFrom(info)
    row = train(1, 50)
    row.processName = "\x1b]0;pwned\x07py\rthon"
    row.pod = "a\u202eb"
    row.container_name = "[bold]c[/bold]:smile:"
    row.owner.name = "two\nlines"
    response.GpuPods[GPU0].pidPods.append(row)
    response.missing.add(kind=pb.MISSING_KIND_DRIVER, reason="\x1b[31mred\x7f")
    return response
