"""From the contract's list of GPUs to plain values, and from a question to its request. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpupods.client.answer import Owner
from gpupods.client.convert import age_ms, info_from, missing_from, time_from
from gpupods.client.gpu_list import GpuList, GpuSource, ListedGpu, MissingOfNode, PodOnGpu
from gpupods.identity import GpuUuid, NodeName, PodRef, PodUid
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import health_pb2

SOURCES: Mapping[int, GpuSource] = {
    health_pb2.GPU_SOURCE_NODE_AGENT: GpuSource.NODE_AGENT,
    health_pb2.GPU_SOURCE_NODE_OBJECT: GpuSource.NODE_OBJECT,
}


def list_request(
    nodes: Iterable[str], *, only_unfit: bool, max_age_s: float
) -> health_pb2.ListGpusRequest:
    """The request for the GPUs of ``nodes``; none: of all.

    Raises:
        ValueError: ``max_age_s`` is below 0, not a number, or more than 49 days.
    """
    return health_pb2.ListGpusRequest(
        node_names=nodes, only_unfit=only_unfit, max_age_ms=age_ms(max_age_s)
    )


def list_from(response: health_pb2.ListGpusResponse) -> GpuList:
    """The whole answer, in its order."""
    return GpuList(
        gpus=tuple(_gpu_from(gpu) for gpu in response.gpus),
        missing=tuple(_missing_from(part) for part in response.missing),
        nodes=response.nodes,
        gpus_known=response.gpus_known,
    )


def _gpu_from(gpu: health_pb2.ListedGpu) -> ListedGpu:
    return ListedGpu(
        node=NodeName(gpu.node_name),
        info=info_from(GpuUuid(gpu.info.uuid), gpu.info),
        pods=tuple(_pod_from(pod) for pod in gpu.pods) if gpu.pods_known else None,
        other_processes=gpu.other_processes,
        source=SOURCES.get(gpu.source, GpuSource.UNKNOWN),
        sampled_at=time_from(gpu.sample_time) if gpu.HasField("sample_time") else None,
        announced=gpu.announced,
        given_to=tuple(PodRef(pod.namespace, pod.name) for pod in gpu.given_to),
    )


def _pod_from(pod: health_pb2.PodOnGpu) -> PodOnGpu:
    return PodOnGpu(
        ref=PodRef(pod.namespace, pod.name),
        uid=PodUid(pod.uid) if pod.uid else None,
        owner=Owner(pod.owner.kind, pod.owner.name) if pod.HasField("owner") else None,
        processes=pod.processes,
        memory_mib=pod.memory_used if pod.memory_known else None,
    )


def _missing_from(part: health_pb2.MissingOfNode) -> MissingOfNode:
    node = NodeName(part.node_name) if part.node_name else None
    if not part.kind:
        return MissingOfNode(node, None, part.reason)
    told = pb.MissingPart(kind=part.kind, subject=part.subject, reason=part.reason)
    return MissingOfNode(node, missing_from(told), part.reason)
