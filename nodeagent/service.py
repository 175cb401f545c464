"""GpuPodsService as a node agent serves it: sample, identify, join, encode."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import grpc

from gpupods.errors import invalid_argument
from gpupods.identity import ContainerId, GpuUuid
from gpupods.serving import answer, time_left
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from nodeagent.containers.identity import Identification, Identifier
from nodeagent.encode import encode_answer
from nodeagent.gpus.sample import GpuSample
from nodeagent.gpus.sharing import SharedSampler
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.settle import settle
from nodeagent.join import join
from nodeagent.pod_map import parse_pod_map
from nodeagent.pods_on_gpus import LastPods, PodsOnGpus

SAMPLING_SHARE = 0.6
"""Of the time an answer may take, what a slow driver may use; the runtime gets what is left."""

REPLY_SHARE = 0.9
"""Of the caller's time left, what may be used before the answer must be on its way."""


@dataclass(frozen=True, slots=True)
class _HealthTold:
    """Which verdicts are in an answer."""

    version: int
    judged: bool
    """Else that a GPU is fit is not known."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """The whole of an answer: what it was made from, and what it is for one caller's map."""

    sample: GpuSample
    identification: Identification
    health: _HealthTold
    worker_id: str
    response: pb.GetGpuPodsResponse


class NodeGpuPods(pb_grpc.GpuPodsServiceServicer):
    """Answers for this node alone."""

    def __init__(
        self,
        *,
        node_name: str,
        sampler: SharedSampler,
        identifier: Identifier,
        request_limit_s: float,
        health: HealthMonitor | None = None,
        pods_on_gpus: PodsOnGpus | None = None,
    ) -> None:
        self._node_name = node_name
        self._sampler = sampler
        self._identifier = identifier
        self._request_limit_s = request_limit_s
        self._health = health or HealthMonitor()
        self._pods_on_gpus = pods_on_gpus
        self._last_map: tuple[str, Mapping[ContainerId, str] | None] = ("", None)
        self._last: _Answered | None = None

    async def GetGpuPods(  # noqa: N802 - the contract's name
        self,
        request: pb.GetGpuPodsRequest,
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> pb.GetGpuPodsResponse:
        """Which process is on which GPU of this node, and in which pod."""
        limit = time_left(context, self._request_limit_s)
        return await answer(context, self._answer(request, limit * REPLY_SHARE))

    async def _answer(self, request: pb.GetGpuPodsRequest, limit_s: float) -> pb.GetGpuPodsResponse:
        if request.only_this_pod:
            raise invalid_argument("only_this_pod is for the controller: a node agent knows no pod")
        ends = time.monotonic() + limit_s
        pods = self._pods(request.worker_id)
        max_age_s = request.max_age_ms / 1000
        sample = await self._sampler.sample(max_age_s, limit_s * SAMPLING_SHARE)
        last = self._last
        if last is not None and self._holds(last, sample, request.worker_id):
            return last.response
        identification = await self._identify(sample, limit_s * (1 - SAMPLING_SHARE))
        health, verdicts = self._health_told(), self._health.verdicts
        settled = settle(sample, verdicts)
        response = encode_answer(
            self._node_name,
            settled,
            join(settled, identification, pods),
            (*settled.missing, *identification.missing),
            boot_to_wall_s(sample),
            verdicts={each.uuid: each for each in verdicts if health.judged or not each.fit},
            last=await self._last_pods(sample, settled, ends - time.monotonic()),
        )
        if not identification.missing:
            # Those who share the sample share all of it: ten callers cost little more than one.
            self._last = _Answered(sample, identification, health, request.worker_id, response)
        return response

    def _health_told(self) -> _HealthTold:
        return _HealthTold(self._health.version, self._health.judged)

    def _holds(self, last: _Answered, sample: GpuSample, worker_id: str) -> bool:
        """Whether the last answer is this one, too."""
        return (
            last.sample is sample
            and last.worker_id == worker_id
            and last.health == self._health_told()
        )

    def _pods(self, worker_id: str) -> Mapping[ContainerId, str] | None:
        """The caller's map. The last one is kept parsed: it changes seldom and can be large."""
        if worker_id != self._last_map[0]:
            self._last_map = (worker_id, parse_pod_map(worker_id))
        return self._last_map[1]

    async def _last_pods(
        self, sample: GpuSample, settled: GpuSample, limit_s: float
    ) -> Mapping[GpuUuid, LastPods]:
        """With which pods the GPUs were last seen of whose processes the driver does not tell."""
        if self._pods_on_gpus is None:
            return {}
        self._pods_on_gpus.remember(sample)
        silent = {gpu.uuid for gpu in settled.gpus if not gpu.processes and not gpu.processes_whole}
        return await self._pods_on_gpus.last(silent, max(0.0, limit_s)) if silent else {}

    async def _identify(self, sample: GpuSample, limit_s: float) -> Identification:
        if self._last is not None and self._last.sample is sample:
            return self._last.identification
        pids = {process.pid for gpu in sample.gpus for process in gpu.processes}
        if not pids or sample.taken is None:
            return Identification({}, {})
        return await self._identifier.identify(sorted(pids), sample.taken, limit_s)


def boot_to_wall_s(sample: GpuSample) -> float:
    """What to add to a boot time of the sampled node to have seconds since the epoch."""
    taken = sample.taken
    return 0.0 if taken is None else taken.wall - taken.boot
