"""DiagnosisService as the controller serves it: about itself, and about every node agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import grpc

from controller.cache.cluster import ClusterCache
from controller.cache.informers import Informers
from controller.diagnosis import judge
from controller.diagnosis.nodes import AgentsDiagnosis, Diagnosed
from controller.diagnosis.rights import Right, missing_rights
from controller.leader.candidate import Candidate
from gpupods.diagnosis import Check, to_message
from gpupods.kube.api import KubeApi
from gpupods.kube.failures import ApiError
from gpupods.serving import answer, time_left
from gpupods.v1alpha1 import diagnosis_pb2 as pb
from gpupods.v1alpha1 import diagnosis_pb2_grpc as pb_grpc
from gpupods.version import VERSION

WORKING_SHARE = 0.9
"""Of the caller's time, what may be used before the answer must be on its way."""

API_LIMIT_S = 3.0


class ClusterDiagnosis(pb_grpc.DiagnosisServiceServicer):
    """Examines the controller, and has the agents examine their nodes.

    ``staleness`` says since when the API server is not followed, empty if it is; ``clock`` is the
    wall clock in seconds since the epoch.
    """

    def __init__(
        self,
        *,
        cache: ClusterCache,
        informers: Informers,
        candidate: Candidate | None,
        api: KubeApi,
        rights: Sequence[Right],
        agents: AgentsDiagnosis,
        staleness: Callable[[], str],
        request_limit_s: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._informers = informers
        self._candidate = candidate
        self._api = api
        self._rights = rights
        self._agents = agents
        self._staleness = staleness
        self._request_limit_s = request_limit_s
        self._clock = clock

    async def Diagnose(  # noqa: N802 - the contract's name
        self, request: pb.DiagnoseRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.DiagnoseResponse:
        """Examine everything now."""
        limit_s = time_left(context, self._request_limit_s)
        return await answer(context, self._answer(request, limit_s * WORKING_SHARE))

    async def _answer(self, request: pb.DiagnoseRequest, limit_s: float) -> pb.DiagnoseResponse:
        expectations = [] if request.without_nodes else judge.expectations(self._cache)
        checks, nodes = await asyncio.gather(
            self._own(min(limit_s, API_LIMIT_S)), self._agents.ask(expectations, limit_s)
        )
        if not request.without_nodes and self._cache.synced:
            checks.append(_agents_check(nodes))
        response = pb.DiagnoseResponse(
            version=VERSION,
            checks=map(to_message, checks),
            nodes=[_node_message(each) for each in nodes if each.checks],
        )
        response.answered_at.FromNanoseconds(int(self._clock() * 1e9))
        return response

    async def _own(self, limit_s: float) -> list[Check]:
        """About the controller itself."""
        (version, unreached), (missing, unknown) = await asyncio.gather(
            self._ask_version(limit_s), self._ask_rights(limit_s)
        )
        checks = [
            judge.api_server_check(version, unreached),
            judge.cache_check(self._cache, self._informers.status(), self._staleness()),
        ]
        if not unreached:
            checks.append(judge.rights_check(missing, unknown))
        if self._candidate is not None:
            checks.append(
                judge.leader_check(
                    self._candidate.standing(),
                    leads=self._candidate.leads(),
                    another=self._candidate.another_leads(),
                )
            )
        return checks

    async def _ask_version(self, limit_s: float) -> tuple[str, str]:
        """The API server's version, or why it is not known."""
        try:
            answered = await self._api.ask("GET", "/version", limit_s=limit_s)
        except ApiError as error:
            return "", str(error)
        return str(answered.get("gitVersion", "of unknown version")), ""

    async def _ask_rights(self, limit_s: float) -> tuple[list[Right], str]:
        """The rights that are missing, and why they are not known."""
        try:
            return await missing_rights(self._api, self._rights, limit_s), ""
        except ApiError as error:
            return [], str(error)


def _agents_check(nodes: Sequence[Diagnosed]) -> Check:
    return judge.agents_check(
        answered=sum(each.answered for each in nodes),
        expected=sum(each.expectation.is_expected or each.answered for each in nodes),
        without=[each.expectation.node.name for each in nodes if not each.checks],
    )


def _node_message(each: Diagnosed) -> pb.NodeDiagnosis:
    return pb.NodeDiagnosis(
        node_name=each.expectation.node.name,
        address=each.address,
        version=each.version,
        checks=map(to_message, each.checks),
    )
