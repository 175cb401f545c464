"""Asks the agents of many nodes for their GPUs, some hundreds at once, within one deadline."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from controller.ask import AgentOfNode, ask_agent
from controller.cache.cluster import ClusterCache
from controller.cache.records import NodeRecord
from controller.channels import NodeChannels
from controller.enrich import enrich
from controller.fan_out import fan_out
from gpupods.errors import StatusError
from gpupods.v1alpha1 import gpupods_pb2 as pb

AT_ONCE = 256
"""Agents that are asked at the same time."""

LONGEST_S = 3.0
"""That one of them may take; a driver that hangs is told of well within it."""

NOT_IN_TIME = "its agent was not asked: the time was over before its turn came"


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """One node: its agent's answer, enriched, or why there is none."""

    node: NodeRecord
    response: pb.GetGpuPodsResponse | None = None
    problem: str = ""


class NodeAsker:
    """Asks agents over ``channels``, and adds what ``cache`` knows."""

    def __init__(self, cache: ClusterCache, channels: NodeChannels) -> None:
        self._cache = cache
        self._channels = channels

    async def ask_all(
        self, nodes: Sequence[NodeRecord], *, max_age_ms: int, limit_s: float
    ) -> list[NodeAnswer]:
        """One answer for each of ``nodes``, in their order; all is over within ``limit_s``."""
        ends = time.monotonic() + limit_s

        async def in_turn(node: NodeRecord) -> NodeAnswer:
            remaining_s = min(ends - time.monotonic(), LONGEST_S)
            if remaining_s <= 0:
                return NodeAnswer(node, problem=NOT_IN_TIME)
            return await self.ask(node, max_age_ms=max_age_ms, limit_s=remaining_s)

        return await fan_out(nodes, AT_ONCE, in_turn)

    async def ask(self, node: NodeRecord, *, max_age_ms: int, limit_s: float) -> NodeAnswer:
        """The answer of one node's agent."""
        if not node.internal_ips:
            return NodeAnswer(
                node,
                problem="it has no InternalIP, so its agent cannot be asked; its kubelet or cloud "
                "controller has to report one (kubectl get node -o wide)",
            )
        question = pb.GetGpuPodsRequest(
            worker_id=self._cache.container_map(node.name), max_age_ms=max_age_ms
        )
        where = AgentOfNode(node.name, node.internal_ips)
        try:
            response = await ask_agent(self._channels, where, question, limit_s)
        except StatusError as error:
            return NodeAnswer(node, problem=error.message)
        enrich(response, self._cache)
        return NodeAnswer(node, response)
