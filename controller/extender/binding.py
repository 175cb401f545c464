"""Gives a pod its cards and binds it, in one request.

The API server copies the annotations of a Binding to the pod in the same write, so that a pod is
never bound without its cards nor has cards without being bound, and a failure leaves nothing
behind. Between the choice and the moment at which the cache shows the pod, the cards are held; no
second choice can fall on them, as all choices are made in one event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus

import structlog

from controller.cache.cluster import ClusterCache
from controller.cache.gpus import Hold
from controller.cache.records import PodRecord
from controller.extender.leadership import Leadership
from controller.extender.wire import ExtenderBindingArgs
from gpupods.accounting.indexes import format_index
from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER, PREDICATE_TIME
from gpupods.accounting.refusal import explain
from gpupods.accounting.request import GpuRequest
from gpupods.identity import NodeName, PodUid
from gpupods.kube.api import KubeApi
from gpupods.kube.failures import ApiError, RefusedError
from gpupods.kube.paths import pod_path

log = structlog.get_logger()

POD_LIMIT_S = 1.0
"""How long a pod that the scheduler has heard of may take to reach the cache."""
_LOOK_EVERY_S = 0.01

NEEDED = "the controller's role must allow create of pods/binding"


class NotBoundError(Exception):
    """Why not, for the scheduler's log and the pod's events."""


class Binder:
    """Binds pods that ask for GPUs.

    Args:
        cache: The cluster.
        api: The API server.
        leadership: Whether this replica may.
        staleness: Since when changes may have been missed and why; "" if none were.
        limit_s: What the API server may take. No longer than it takes until another replica can
            lead, so that what a leader has begun is over by then.
    """

    def __init__(
        self,
        cache: ClusterCache,
        api: KubeApi,
        leadership: Leadership,
        staleness: Callable[[], str],
        limit_s: float,
    ) -> None:
        self._cache = cache
        self._api = api
        self._leadership = leadership
        self._staleness = staleness
        self._limit_s = limit_s

    async def bind(self, wanted: ExtenderBindingArgs) -> None:
        """Bind the pod to the node.

        Raises:
            NotBoundError: it was not bound, or that is not known.
        """
        settled = await self._leadership.settled()
        pod = await self._pod(wanted)
        if pod.node == wanted.node:
            return  # the answer to an earlier request was lost
        request = self._checked(pod, settled=settled)
        hold, is_new = self._hold(pod, request, NodeName(wanted.node))
        try:
            await self._write(pod, hold)
        except ApiError as error:
            if (
                is_new
                and isinstance(error, RefusedError)
                and error.status < HTTPStatus.INTERNAL_SERVER_ERROR
            ):
                self._cache.gpus.release(hold)
            else:
                self._cache.gpus.doubt(hold)
            raise NotBoundError(f"pod {pod.ref} was not bound to {wanted.node}: {error}") from error
        self._cache.gpus.bound(hold)
        log.info("bound", pod=str(pod.ref), node=hold.node, gpus=format_index(hold.indexes))

    async def _pod(self, wanted: ExtenderBindingArgs) -> PodRecord:
        """The pod, as soon as it is in the cache."""
        ends = time.monotonic() + POD_LIMIT_S
        while True:
            pod = self._cache.pod_by_uid(PodUid(wanted.pod_uid))
            if pod is not None:
                return pod
            if time.monotonic() > ends:
                name = f"{wanted.pod_namespace}/{wanted.pod_name}"
                raise NotBoundError(f"pod {name} is not known here, or no longer")
            await asyncio.sleep(_LOOK_EVERY_S)

    def _checked(self, pod: PodRecord, *, settled: bool) -> GpuRequest:
        """What the pod asks for, if it may be bound here and now."""
        if not self._leadership.leads():
            raise NotBoundError(f"pod {pod.ref} was not bound: {self._leadership.standing()}")
        if not settled:
            raise NotBoundError(
                f"pod {pod.ref} was not bound: this replica has just begun to lead, and does not "
                "follow the API server yet"
            )
        if stale := self._staleness():
            raise NotBoundError(f"pod {pod.ref} was not bound: {stale}")
        if pod.node:
            raise NotBoundError(f"pod {pod.ref} is on node {pod.node} already")
        if pod.gpus is None:
            raise NotBoundError(
                f"pod {pod.ref} asks for no GPU, and is for the scheduler itself to bind: let "
                f"managedResources of the extender name {GPU_MEMORY} and {GPU_NUMBER}"
            )
        if pod.gpus.problem:
            raise NotBoundError(f"pod {pod.ref}: {pod.gpus.problem}")
        return pod.gpus.request

    def _hold(self, pod: PodRecord, request: GpuRequest, node: NodeName) -> tuple[Hold, bool]:
        """The pod's cards on the node, and whether they were chosen just now.

        What an earlier attempt has chosen stays: it may yet be carried out.
        """
        gpus = self._cache.gpus
        known = gpus.held(pod.uid, node)
        if known is not None:
            if lost := gpus.lost(known):
                raise NotBoundError(
                    f"pod {pod.ref} is not given others before it is known that it was not bound: "
                    f"GPU {format_index(lost)}, which may have been given to it, is unfit or "
                    "another's by now"
                )
            return gpus.prolong(known, self._limit_s), False
        state = gpus.states().get(node)
        if state is None:
            raise NotBoundError(f"node {node} is not known here, or no longer")
        indexes = state.place(request)
        if not indexes:
            record = self._cache.node(node)
            health = record.gpu_health if record is not None else None
            raise NotBoundError(
                f"pod {pod.ref} asks for {request}: {explain(node, state, request, health)}"
            )
        return gpus.hold(pod, node, request, indexes, self._limit_s), True

    async def _write(self, pod: PodRecord, hold: Hold) -> None:
        annotations = {
            GPU_INDEX: format_index(hold.indexes),
            PREDICATE_TIME: str(time.time_ns()),
        }
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {
                "name": pod.name,
                "namespace": pod.namespace,
                "uid": pod.uid,
                "annotations": annotations,
            },
            "target": {"apiVersion": "v1", "kind": "Node", "name": hold.node},
        }
        path = f"{pod_path(pod.ref)}/binding"
        await self._api.ask("POST", path, binding, limit_s=self._limit_s, needed=NEEDED)
