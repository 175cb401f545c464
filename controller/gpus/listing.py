"""One node's GPUs as rows of the cluster's list. Pure: from what its agent or its Node object says.

An agent's answer has been enriched by then (`controller.enrich`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp

from controller.cache.records import NodeRecord, PodRecord
from gpupods.accounting.indexes import parse_index
from gpupods.identity import NodeName
from gpupods.kube.objects import ENDED_PHASES
from gpupods.node_annotations import UnfitGpu, UnfitStanding, parse_health, parse_ids
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import health_pb2

ONLY_AN_INDEX = "the Node object names its index as unfit, and says no more"


GivenTo: TypeAlias = Mapping[int, list[health_pb2.PodOnGpu]]
"""The pods that a scheduler gave each GPU of a node to, by index."""


def given_to(pods: Iterable[PodRecord]) -> GivenTo:
    """What the pods of a node were given, by their annotations; not those that are over."""
    given: defaultdict[int, list[health_pb2.PodOnGpu]] = defaultdict(list)
    for pod in sorted(pods, key=lambda pod: pod.ref):
        if pod.gpus is None or pod.gpus.index is None or pod.phase in ENDED_PHASES:
            continue
        try:
            indexes = parse_index(pod.gpus.index)
        except ValueError:
            continue  # the scheduler extender tells of it
        told = health_pb2.PodOnGpu(namespace=pod.namespace, name=pod.name, uid=pod.uid)
        if pod.owner is not None:
            told.owner.kind, told.owner.name = pod.owner.kind, pod.owner.name
        for index in indexes:
            given[index].append(told)
    return given


def from_agent(
    node: NodeRecord, answered: pb.GetGpuPodsResponse, given: GivenTo, *, only_unfit: bool
) -> list[health_pb2.ListedGpu]:
    """The GPUs that the agent of ``node`` knows, by index."""
    announced, _ = parse_ids(node.unhealthy_ids)
    driver_silent, unread = _unread(answered.missing)
    listed = []
    for uuid, info in sorted(answered.GpuInfos.items(), key=lambda item: (item[1].index, item[0])):
        if only_unfit and info.health != pb.GPU_HEALTH_UNFIT and info.index not in announced:
            continue
        gpu = health_pb2.ListedGpu(
            node_name=node.name,
            info=info,
            pods=_pods(answered.GpuPods[uuid].pidPods) if uuid in answered.GpuPods else (),
            pods_known=not driver_silent and not unread & {uuid, f"gpu {info.index}"},
            source=health_pb2.GPU_SOURCE_NODE_AGENT,
            announced=info.index in announced,
            given_to=given.get(info.index, ()),
        )
        if uuid in answered.unattributed:
            gpu.other_processes = len(answered.unattributed[uuid].processes)
        if answered.HasField("sample_time"):
            gpu.sample_time.CopyFrom(answered.sample_time)
        listed.append(gpu)
    return listed


def _unread(missing: Iterable[pb.MissingPart]) -> tuple[bool, set[str]]:
    """Whether the driver has not answered at all, and the GPUs that it could not read."""
    parts = list(missing)
    silent = any(part.kind == pb.MISSING_KIND_DRIVER for part in parts)
    return silent, {part.subject for part in parts if part.kind == pb.MISSING_KIND_GPU}


def _pods(rows: Iterable[pb.PidPods]) -> list[health_pb2.PodOnGpu]:
    """One entry for each pod, by namespace and name."""
    pods: dict[tuple[str, str, str], health_pb2.PodOnGpu] = {}
    for row in rows:
        key = (row.namespace, row.pod, row.pod_uid)
        pod = pods.get(key)
        if pod is None:
            pod = health_pb2.PodOnGpu(
                namespace=row.namespace, name=row.pod, uid=row.pod_uid, memory_known=True
            )
            if row.HasField("owner"):
                pod.owner.CopyFrom(row.owner)
            pods[key] = pod
        pod.processes += 1
        if row.memory_known:
            pod.memory_used += row.UsedGpuMemory
        else:
            pod.memory_known = False
    return [pods[key] for key in sorted(pods)]


def missing_of(node: NodeName, parts: Iterable[pb.MissingPart]) -> list[health_pb2.MissingOfNode]:
    """What an agent's answer lacks, under its node's name."""
    return [
        health_pb2.MissingOfNode(
            node_name=node, kind=part.kind, subject=part.subject, reason=part.reason
        )
        for part in parts
    ]


def from_node_object(node: NodeRecord, given: GivenTo) -> list[health_pb2.ListedGpu]:
    """The unfit GPUs that the Node's annotations name: of the others they say nothing."""
    unfit = {gpu.index: gpu for gpu in parse_health(node.gpu_health)[0]}
    announced, _ = parse_ids(node.unhealthy_ids)
    return [
        health_pb2.ListedGpu(
            node_name=node.name,
            info=_info(index, unfit.get(index)),
            source=health_pb2.GPU_SOURCE_NODE_OBJECT,
            announced=index in announced,
            given_to=given.get(index, ()),
        )
        for index in sorted(announced | unfit.keys())
    ]


def _info(index: int, gpu: UnfitGpu | None) -> pb.GpuInfo:
    if gpu is None:
        detail = pb.GpuHealthDetail(reason=ONLY_AN_INDEX)
        return pb.GpuInfo(index=index, health=pb.GPU_HEALTH_UNFIT, health_detail=detail)
    return pb.GpuInfo(
        index=index,
        uuid=gpu.uuid,
        pci_address=gpu.pci_address,
        health=pb.GPU_HEALTH_UNFIT,
        health_detail=pb.GpuHealthDetail(
            reason=gpu.reason,
            xid=gpu.xid,
            since=_timestamp(gpu.since),
            action=gpu.action,
            source=gpu.source,
            recovering=gpu.standing is UnfitStanding.RECOVERING,
            operator=gpu.who,
            until=_timestamp(gpu.until),
        ),
    )


def _timestamp(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def not_asked(node: NodeRecord, problem: str) -> health_pb2.MissingOfNode:
    """Why the agent of ``node`` has not answered, and what is known of its GPUs all the same."""
    wrong = "; ".join(filter(None, (parse_health(node.gpu_health)[1], parse_ids_problem(node))))
    told = [str(gpu.info.index) for gpu in from_node_object(node, {})]
    if told:
        known = (
            f"its Node object names GPU {', '.join(told)} as unfit, of the others nothing is known"
        )
    else:
        known = "its Node object names no unfit GPU; more is not known"
    reason = f"{problem}; {known}" + (f"; {wrong}" if wrong else "")
    return health_pb2.MissingOfNode(node_name=node.name, reason=reason)


def parse_ids_problem(node: NodeRecord) -> str:
    """What is wrong with the list of unfit GPUs; "" where nothing is."""
    return parse_ids(node.unhealthy_ids)[1]
