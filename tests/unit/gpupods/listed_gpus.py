"""A realistic list of a cluster's GPUs, with one of each standing."""

from __future__ import annotations

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import health_pb2
from tests.unit.gpupods.answers import SAMPLED

NIGHT = Timestamp(seconds=1796000000)
MORNING = Timestamp(seconds=1796040000)
FELL_OFF = pb.GpuHealthDetail(
    reason="XID 79: the GPU has fallen off the bus",
    xid=79,
    since=NIGHT,
    action="restart the node",
    ends="with a restart of the machine",
    source="nvml",
)
RECOVERS = pb.GpuHealthDetail(
    reason="uncorrectable-ecc: a memory error",
    since=NIGHT,
    action="wait",
    source="nvml",
    others=["XID 48: an uncorrectable memory error"],
    recovering=True,
)
EXCLUDED = pb.GpuHealthDetail(
    reason="excluded by ada: gets too hot",
    since=NIGHT,
    action="ask ada",
    source="operator",
    operator="ada",
    until=MORNING,
)
RESTORED = pb.GpuHealthDetail(
    reason="restored by ada: reseated", since=NIGHT, source="operator", operator="ada"
)


def gpu(
    node: str,
    index: int,
    health: pb.GpuHealth.ValueType = pb.GPU_HEALTH_FIT,
    detail: pb.GpuHealthDetail | None = None,
    **more: Any,
) -> health_pb2.ListedGpu:
    """One of eight A100 that its agent has told of; unfit ones are announced."""
    info = pb.GpuInfo(
        uuid=f"GPU-{node}-{index}",
        gpuName="NVIDIA A100-SXM4-80GB",
        index=index,
        pci_address=f"00000000:{0x3B + index:02X}:00.0",
        memory_total=81920,
        memory_used=1024 * index,
        memory_known=True,
        health=health,
        health_detail=detail,
    )
    told: dict[str, Any] = {
        "node_name": node,
        "info": info,
        "pods_known": True,
        "source": health_pb2.GPU_SOURCE_NODE_AGENT,
        "sample_time": SAMPLED,
        "announced": health == pb.GPU_HEALTH_UNFIT,
    }
    return health_pb2.ListedGpu(**told | more)


def pod(namespace: str, name: str) -> health_pb2.PodOnGpu:
    return health_pb2.PodOnGpu(namespace=namespace, name=name, processes=1, memory_known=True)


def cluster() -> health_pb2.ListGpusResponse:
    """Two nodes whose agents answer, and one whose agent does not."""
    away = gpu(
        "node-3",
        5,
        pb.GPU_HEALTH_UNFIT,
        FELL_OFF,
        pods_known=False,
        source=health_pb2.GPU_SOURCE_NODE_OBJECT,
        given_to=[pod("team-b", "infer-0")],
    )
    away.info.ClearField("gpuName")
    away.info.ClearField("memory_known")
    lost = gpu("node-1", 1, pb.GPU_HEALTH_UNFIT, FELL_OFF, pods_known=False)
    lost.info.last_pods.add(namespace="shop", pod="web-2")
    lost.info.last_pods_time.CopyFrom(SAMPLED)
    return health_pb2.ListGpusResponse(
        gpus=[
            gpu("node-1", 0, pods=[pod("team-a", "train-0"), pod("shop", "web-1")]),
            lost,
            gpu("node-1", 2, pb.GPU_HEALTH_UNFIT, EXCLUDED, pods=[pod("team-a", "train-0")]),
            gpu("node-2", 0, pb.GPU_HEALTH_UNFIT, RECOVERS, other_processes=1),
            gpu("node-2", 1, pb.GPU_HEALTH_FIT, RESTORED),
            gpu("node-2", 2, pb.GPU_HEALTH_UNSPECIFIED),
            away,
        ],
        missing=[
            health_pb2.MissingOfNode(
                node_name="node-1",
                kind=pb.MISSING_KIND_GPU,
                subject="GPU-node-1-1",
                reason="GPU 1 is lost",
            ),
            health_pb2.MissingOfNode(node_name="node-3", reason="its agent was not reached"),
            health_pb2.MissingOfNode(kind=pb.MISSING_KIND_POD, reason="pods as of 20 s ago"),
        ],
        nodes=3,
        gpus_known=7,
    )
