"""GpuPodsService as the controller serves it: resolve, ask the node, enrich."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from controller.ask import ask_agent
from controller.cache.cluster import ClusterCache
from controller.channels import NodeChannels
from controller.enrich import enrich, keep_only_pod
from controller.resolve import resolve
from gpupods.serving import answer, time_left
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc

REPLY_MARGIN_SHARE = 0.1
"""Of the caller's time, kept back for the way home: whoever hears nothing does not learn which
node it was. A controller that shares its cores with much else needs a tenth of a second or two."""
LONGEST_REPLY_MARGIN_S = 0.5


class ClusterGpuPods(pb_grpc.GpuPodsServiceServicer):
    """Answers for the node of any pod of the cluster."""

    def __init__(
        self,
        *,
        cache: ClusterCache,
        channels: NodeChannels,
        staleness: Callable[[], str],
        request_limit_s: float,
    ) -> None:
        self._cache = cache
        self._channels = channels
        self._staleness = staleness
        self._request_limit_s = request_limit_s

    async def GetGpuPods(  # noqa: N802 - the contract's name
        self,
        request: pb.GetGpuPodsRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> pb.GetGpuPodsResponse:
        """Which process is on which GPU of the pod's node, and in which pod."""
        limit = time_left(context, self._request_limit_s)
        return await answer(context, self._answer(request, limit))

    async def _answer(self, request: pb.GetGpuPodsRequest, limit_s: float) -> pb.GetGpuPodsResponse:
        where = resolve(request.worker_id, self._cache)
        question = pb.GetGpuPodsRequest(
            worker_id=self._cache.container_map(where.node), max_age_ms=request.max_age_ms
        )
        response = await ask_agent(self._channels, where, question, limit_s - _margin(limit_s))
        if not response.node_name:
            response.node_name = where.node
        enrich(response, self._cache)
        if request.only_this_pod:
            keep_only_pod(response, where.pod.uid)
        if stale := self._staleness():
            response.missing.add(kind=pb.MISSING_KIND_POD, reason=stale)
        return response


def _margin(limit_s: float) -> float:
    """What of the caller's time is kept back, in seconds."""
    return min(limit_s * REPLY_MARGIN_SHARE, LONGEST_REPLY_MARGIN_S)
