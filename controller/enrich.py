"""Adds to an agent's rows what only the cluster knows: namespace, uid, container name, owner.

Pure but for the look-ups by container id, of which there is one a row.
"""

from __future__ import annotations

from controller.cache.cluster import ClusterCache
from controller.cache.records import ContainerOwner
from gpupods.identity import ContainerId, PodUid
from gpupods.v1alpha1 import gpupods_pb2 as pb


def enrich(response: pb.GetGpuPodsResponse, cache: ClusterCache) -> None:
    """Fill the rows of ``response`` in place, by container id.

    A row whose container has left the cluster since the agent was asked is told as missing.
    """
    unknown: dict[str, str] = {}
    for pods in response.GpuPods.values():
        for row in pods.pidPods:
            owner = cache.pod_of_container(ContainerId(row.container_id))
            if owner is not None:
                _fill(row, owner)
            elif not row.namespace:
                unknown[row.container_id] = row.pod
    for container_id, pod in unknown.items():
        response.missing.add(
            kind=pb.MISSING_KIND_POD,
            subject=container_id,
            reason=f"pod {pod!r} left the cluster while its node was asked: its namespace, uid "
            "and owner are not known any more",
        )


def _fill(row: pb.PidPods, owner: ContainerOwner) -> None:
    pod = owner.pod
    row.pod = pod.name
    row.namespace = pod.namespace
    row.pod_uid = pod.uid
    row.container_name = owner.container_name
    if pod.owner is not None:
        row.owner.kind = pod.owner.kind
        row.owner.name = pod.owner.name


def keep_only_pod(response: pb.GetGpuPodsResponse, uid: PodUid) -> None:
    """Leave out every row that is not of the pod with ``uid``; the GPUs all stay.

    Goes after `enrich`, which is what puts the uid into the rows.
    """
    for gpu in list(response.GpuPods):
        rows = [row for row in response.GpuPods[gpu].pidPods if row.pod_uid == uid]
        if not rows:
            del response.GpuPods[gpu]
        elif len(rows) < len(response.GpuPods[gpu].pidPods):
            response.GpuPods[gpu].CopyFrom(pb.Pods(pidPods=rows))
    response.unattributed.clear()
