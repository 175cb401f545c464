"""GpuHealthService as the controller serves it: choose nodes, ask their agents, list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from controller.cache.cluster import ClusterCache
from controller.gpus.asking import NodeAnswer, NodeAsker
from controller.gpus.choosing import choose
from controller.gpus.listing import (
    from_agent,
    from_node_object,
    given_to,
    missing_of,
    not_asked,
)
from gpupods.serving import answer, time_left
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import health_pb2, health_pb2_grpc

WORKING_SHARE = 0.9
"""Of the caller's time, what may be used before the answer must be on its way."""


class ClusterGpuHealth(health_pb2_grpc.GpuHealthServiceServicer):
    """Lists the GPUs of all nodes.

    ``staleness`` says since when the API server is not followed, empty if it is.
    """

    def __init__(
        self,
        *,
        cache: ClusterCache,
        asker: NodeAsker,
        staleness: Callable[[], str],
        request_limit_s: float,
    ) -> None:
        self._cache = cache
        self._asker = asker
        self._staleness = staleness
        self._request_limit_s = request_limit_s

    async def ListGpus(  # noqa: N802 - the contract's name
        self,
        request: health_pb2.ListGpusRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> health_pb2.ListGpusResponse:
        """The GPUs of the nodes that were named, or of all."""
        limit_s = time_left(context, self._request_limit_s)
        return await answer(context, self._answer(request, limit_s * WORKING_SHARE))

    async def _answer(
        self, request: health_pb2.ListGpusRequest, limit_s: float
    ) -> health_pb2.ListGpusResponse:
        nodes = choose(self._cache, request.node_names)
        answers = await self._asker.ask_all(nodes, max_age_ms=request.max_age_ms, limit_s=limit_s)
        response = health_pb2.ListGpusResponse(nodes=len(nodes))
        for each in sorted(answers, key=lambda each: each.node.name):
            self._add(response, each, only_unfit=request.only_unfit)
        if stale := self._staleness():
            response.missing.add(kind=pb.MISSING_KIND_POD, reason=stale)
        return response

    def _add(
        self, response: health_pb2.ListGpusResponse, answered: NodeAnswer, *, only_unfit: bool
    ) -> None:
        node = answered.node
        given = given_to(self._cache.pods_on(node.name))
        if answered.response is None:
            told = from_node_object(node, given)
            response.gpus_known += len(told)
            response.gpus.extend(told)
            response.missing.append(not_asked(node, answered.problem))
            return
        response.gpus_known += len(answered.response.GpuInfos)
        response.gpus.extend(from_agent(node, answered.response, given, only_unfit=only_unfit))
        response.missing.extend(missing_of(node.name, answered.response.missing))
