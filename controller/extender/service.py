"""What the HTTP port serves of the extender: bytes in, bytes out, an error in words for each.

A scheduler throws away the body of an answer that is not 200, so errors are told inside of one
wherever its shape has a place for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from http import HTTPStatus

import aiohttp
import msgspec
import structlog

from controller.cache.cluster import ClusterCache
from controller.cache.reading import pod_gpus
from controller.cache.records import PodGpus
from controller.extender.binding import Binder, NotBoundError
from controller.extender.decide import Refused, fitting, refused, score
from controller.extender.leadership import BIND_HERE, LeaderPod, Leadership
from controller.extender.wire import (
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderBindingResult,
    ExtenderFilterResult,
    HostPriority,
    NodeList,
    PredicateRequest,
    PredicateResponse,
    PrioritizeRequest,
    PrioritizeResponse,
    WireError,
    name_of,
    read,
)
from controller.http.posting import Answer, Post
from gpupods.accounting.cards import NodeGpus
from gpupods.accounting.refusal import explain
from gpupods.accounting.request import GpuRequest
from gpupods.identity import NodeName, PodUid
from gpupods.kube.failures import ApiError
from gpupods.kube.objects import Pod

log = structlog.get_logger()

FILTER = "/scheduler/filter"
PRIORITIZE = "/scheduler/prioritize"
BIND = "/scheduler/bind"
VOLCANO_PREDICATE = "/volcano/predicate"
VOLCANO_PRIORITIZE = "/volcano/prioritize"

LAG_S = 0.01
"""How far the cache may be behind the scheduler's own without a pod having to wait for it."""
LAG_OF_A_NODE_S = 0.25
"""The same where it is known to be behind: the scheduler names a node that is not there."""

MAX_BYTES = 64 << 20
"""5,000 nodes of 12 kB, where the scheduler sends them whole."""

VOLCANO_ERROR, VOLCANO_UNSCHEDULABLE, VOLCANO_UNRESOLVABLE = 1, 2, 3

_encode = msgspec.json.Encoder().encode


class Extender:
    """Answers schedulers out of ``cache``, and binds through ``binder``."""

    def __init__(
        self, cache: ClusterCache, binder: Binder, leadership: Leadership, leader_pod: LeaderPod
    ) -> None:
        self._cache = cache
        self._binder = binder
        self._leadership = leadership
        self._leader_pod = leader_pod

    def posts(self) -> Mapping[str, Post]:
        """What is served, by path."""
        handlers = {
            FILTER: self.filter,
            PRIORITIZE: self.prioritize,
            BIND: self.bind,
            BIND_HERE: self.bind_here,
            VOLCANO_PREDICATE: self.predicate,
            VOLCANO_PRIORITIZE: self.volcano_prioritize,
        }
        return {path: Post(handler, MAX_BYTES) for path, handler in handlers.items()}

    # kube-scheduler

    async def filter(self, body: bytes) -> Answer:
        """Which of the nodes take the pod."""
        try:
            return _ok(await self._filtered(read(body, ExtenderArgs)))
        except WireError as error:
            return _ok(ExtenderFilterResult(error=str(error)))

    async def _filtered(self, asked: ExtenderArgs) -> ExtenderFilterResult:
        pod, gpus = self._asked_for(asked.pod)
        if gpus is None:
            return ExtenderFilterResult(asked.nodes, asked.node_names)
        if asked.node_names is not None:
            fit, others = await self._judged(pod, gpus.request, asked.node_names)
            return _result(others, node_names=fit)
        whole = {name_of(node): node for node in (asked.nodes and asked.nodes.items) or ()}
        fit, others = await self._judged(pod, gpus.request, list(whole))
        return _result(others, nodes=NodeList([whole[name] for name in fit]))

    async def _judged(
        self, pod: Pod, request: GpuRequest, names: list[str]
    ) -> tuple[list[str], Refused]:
        """Which of the nodes take the pod, and why the others do not.

        Before every node is refused, the cache is given time to hear what the scheduler has heard.
        A pod that was refused everywhere is tried again at the next change of the cluster, at once.
        If our cache were a millisecond behind with that very change, the pod would be refused
        again, and wait for the one after it, for minutes perhaps.
        """
        begun = time.monotonic()
        fit = self._fitting(pod, request, names)
        while not fit and (left_s := begun + self._patience_s(names) - time.monotonic()) > 0:
            await self._cache.gpus.news(left_s)
            fit = self._fitting(pod, request, names)
        taking = set(fit)
        return fit, self._refused(request, [name for name in names if name not in taking])

    def _patience_s(self, names: list[str]) -> float:
        states = self._cache.gpus.states()
        return LAG_S if all(name in states for name in names) else LAG_OF_A_NODE_S

    async def prioritize(self, body: bytes) -> Answer:
        """How well each of the nodes takes the pod. There is no place for an error in words."""
        try:
            asked = read(body, ExtenderArgs)
            _, gpus = self._asked_for(asked.pod)
            names = asked.node_names
            if names is None:
                names = [name_of(node) for node in (asked.nodes and asked.nodes.items) or ()]
        except WireError as error:
            log.warning("a scheduler's request to prioritize is refused", error=str(error))
            return HTTPStatus.BAD_REQUEST, _encode({"Error": str(error)})
        states = self._cache.gpus.states()
        return _ok(
            [
                HostPriority(name, round(score(states.get(name), gpus.request)) if gpus else 0)
                for name in names
            ]
        )

    async def bind(self, body: bytes) -> Answer:
        """Bind a pod, or have the leader do it."""
        if self._leadership.leads():
            return await self.bind_here(body)
        leader = self._leadership.leader()
        if not leader:
            return _not_bound(f"not bound: {self._leadership.standing()}")
        try:
            return HTTPStatus.OK, await self._leader_pod.bind(leader, body)
        except (ApiError, OSError, aiohttp.ClientError) as error:
            why = str(error) or type(error).__name__
            return _not_bound(f"{leader} leads, and was not reached from a standby: {why}")

    async def bind_here(self, body: bytes) -> Answer:
        """Bind a pod, if this replica leads."""
        try:
            self._check_synced()
            await self._binder.bind(read(body, ExtenderBindingArgs))
        except (NotBoundError, WireError) as error:
            return _not_bound(str(error))
        return _ok(ExtenderBindingResult())

    # Volcano

    async def predicate(self, body: bytes) -> Answer:
        """Whether one node takes one task. Volcano itself then chooses the card."""
        try:
            asked = read(body, PredicateRequest)
            pod, gpus = self._asked_for(asked.task.pod)
        except WireError as error:
            return _ok(PredicateResponse(str(error), VOLCANO_ERROR))
        if gpus is None:
            return _ok(PredicateResponse())
        names = [asked.node.name]
        if self._fitting(pod, gpus.request, names):
            return _ok(PredicateResponse())
        why = self._refused(gpus.request, names)
        for reason in why.for_now.values():
            return _ok(PredicateResponse(reason, VOLCANO_UNSCHEDULABLE))
        (reason,) = why.for_good.values()
        return _ok(PredicateResponse(reason, VOLCANO_UNRESOLVABLE))

    async def volcano_prioritize(self, body: bytes) -> Answer:
        """How well each of the nodes takes one task."""
        try:
            asked = read(body, PrioritizeRequest)
            _, gpus = self._asked_for(asked.task.pod)
        except WireError as error:
            return _ok(PrioritizeResponse(error_message=str(error)))
        states = self._cache.gpus.states()
        return _ok(
            PrioritizeResponse(
                {
                    node.name: score(states.get(node.name), gpus.request) if gpus else 0.0
                    for node in asked.nodes
                }
            )
        )

    # Both

    def _check_synced(self) -> None:
        if not self._cache.synced:
            raise WireError(f"the cluster is not known yet: {self._cache.why_not_synced()}")

    def _asked_for(self, pod: Pod | None) -> tuple[Pod, PodGpus | None]:
        """The pod and what it asks for; raises WireError where there is no answer to be had."""
        if pod is None:
            raise WireError("the request has no pod")
        gpus = pod_gpus(pod)
        if gpus is not None:
            self._check_synced()
            if gpus.problem:
                name = f"{pod.metadata.namespace}/{pod.metadata.name}"
                raise WireError(f"pod {name}: {gpus.problem}")
        return pod, gpus

    def _fitting(self, pod: Pod, request: GpuRequest, names: list[str]) -> list[str]:
        gpus = self._cache.gpus
        return fitting(gpus.states(), names, request, gpus.nodes_held_for(PodUid(pod.metadata.uid)))

    def _refused(self, request: GpuRequest, names: list[str]) -> Refused:
        return refused(self._cache.gpus.states(), names, request, self._explaining(request))

    def _explaining(self, request: GpuRequest) -> Callable[[str, NodeGpus], str]:
        def of_node(name: str, state: NodeGpus) -> str:
            node = self._cache.node(NodeName(name))
            return explain(name, state, request, node.gpu_health if node is not None else None)

        return of_node


def _result(
    others: Refused, nodes: NodeList | None = None, node_names: list[str] | None = None
) -> ExtenderFilterResult:
    return ExtenderFilterResult(nodes, node_names, others.for_now, others.for_good)


def _ok(answer: object) -> Answer:
    return HTTPStatus.OK, _encode(answer)


def _not_bound(why: str) -> Answer:
    log.warning("a pod was not bound", error=why)
    return _ok(ExtenderBindingResult(why))
