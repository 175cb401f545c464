"""Answers the kubelet's requests for devices, one after the other.

Which pod a request is for is decided in `nodeagent.deviceplugin.claims`, what it is given in
`nodeagent.deviceplugin.grant`, and `nodeagent.deviceplugin.verify` finds out if that pod was meant.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import structlog

from gpupods.accounting.names import GPU_INDEX
from gpupods.errors import StatusError, not_found
from gpupods.kube.failures import ApiError
from nodeagent.deviceplugin.claims import Claims, Match
from nodeagent.deviceplugin.grant import Environment, grant, preferred
from nodeagent.deviceplugin.marks import Marks
from nodeagent.deviceplugin.offer import Card
from nodeagent.deviceplugin.pod_api import PodApi
from nodeagent.deviceplugin.pods import GpuPod
from nodeagent.deviceplugin.sockets import PodResources
from nodeagent.deviceplugin.status import MOST_SHOWN, Requests
from nodeagent.deviceplugin.terms import Terms
from nodeagent.deviceplugin.verify import Verification, unknown_pod

LOOK_FOR_S = 2.0
"""How long a pod or its annotation is waited for: schedulers write it before they bind the pod."""
LOOK_AGAIN_S = 0.1

log = structlog.get_logger()


class Allocator:
    """One for all resources of a node. Use it in one event loop.

    Args:
        pods: The API server.
        resources: The kubelet's own account.
        cards: The node's GPUs, as they are now.
        terms: How they are offered.
        look_for_s: How long a pod is waited for.
    """

    def __init__(
        self,
        pods: PodApi,
        resources: PodResources,
        cards: Callable[[], Sequence[Card]],
        terms: Terms,
        look_for_s: float = LOOK_FOR_S,
    ) -> None:
        self._pods = pods
        self._cards = cards
        self._terms = terms
        self._look_for_s = look_for_s
        self._claims = Claims()
        self.marks = Marks(pods)
        self.requests = Requests()
        self._verification = Verification(
            pods=pods,
            resources=resources,
            claims=self._claims,
            requests=self.requests,
            cards=cards,
            terms=terms,
        )
        self._turn = asyncio.Lock()

    async def allocate(self, resource: str, ids: frozenset[str]) -> Environment:
        """What the container that asks for these devices is given.

        Raises:
            StatusError: it is not given anything; the message ends up in the pod's status.
        """
        with self._refusals_told(resource, ids):
            return await self._allocate(resource, ids)

    async def _allocate(self, resource: str, ids: frozenset[str]) -> Environment:
        async with self._turn:
            found = await self._find(resource, ids)
            try:
                environment = grant(found, self._cards(), self._terms)
            except StatusError:
                self._claims.turn_away(found.pod)
                raise
            complete = self._claims.take(found, ids)
            if complete:
                await self.marks.mark(found.pod)
        self.requests.answered += 1
        if len(ids) > MOST_SHOWN:
            log.warning("device_plugin.many_devices", pod=str(found.pod.ref), count=len(ids))
        log.info(
            "device_plugin.allocated",
            pod=str(found.pod.ref),
            container=found.ask.container,
            resource=resource,
            count=len(ids),
            indexes=list(found.pod.indexes),
        )
        return environment

    async def prefer(
        self, resource: str, available: Sequence[str], must: Sequence[str], size: int
    ) -> list[str]:
        """Which of the free devices belong to the GPUs that were chosen; none if that is unsure.

        The kubelet's own account, and the health that it shows for a pod, are right by this. No
        more hangs on it.
        """
        async with self._turn:
            try:
                found = self._claims.match(await self._pods.pending(), resource, size)
            except ApiError:
                return []
        if found is None:
            return []
        return await asyncio.to_thread(preferred, found, self._cards(), available, must)

    async def check(self, resource: str, ids: frozenset[str]) -> None:
        """Before a container starts: it has the GPUs that its pod's annotation names.

        Raises:
            StatusError: it has not, and must not start.
        """
        with self._refusals_told(resource, ids):
            async with self._turn:
                await self._verification.check((resource, ids))

    async def close(self) -> None:
        """Stop writing marks."""
        await self.marks.close()

    @contextmanager
    def _refusals_told(self, resource: str, ids: frozenset[str]) -> Iterator[None]:
        try:
            yield
        except StatusError as error:
            self.requests.refused += 1
            self.requests.last_refusal = error.message
            log.warning(
                "device_plugin.refused", resource=resource, count=len(ids), error=error.message
            )
            raise

    async def _find(self, resource: str, ids: frozenset[str]) -> Match:
        """Raises StatusError: no pod fits."""
        ends = time.monotonic() + self._look_for_s
        while True:
            last = time.monotonic() >= ends
            try:
                pods = await self._pods.pending()
            except ApiError as error:
                if last:
                    raise unknown_pod(error) from error
            else:
                found = await self._match(pods, resource, len(ids))
                if found is not None and (found.pod.indexes or last):
                    return found
                if last:
                    raise not_found(self._nobody(resource, len(ids), pods))
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _match(self, pods: Sequence[GpuPod], resource: str, count: int) -> Match | None:
        found = self._claims.match(pods, resource, count)
        if found is None and await self._verification.release():
            found = self._claims.match(pods, resource, count)
        return found

    def _nobody(self, resource: str, count: int, pods: Iterable[GpuPod]) -> str:
        waiting = [
            f"{pod.ref} for {' and '.join(counts)}"
            for pod in pods
            if (counts := [str(ask.count) for ask in pod.asks if ask.resource == resource])
            and not self._claims.is_served(pod)
        ]
        return (
            f"no pending pod of node {self._pods.node} asks for {count} of {resource} now"
            f"{': there are ' + ', '.join(sorted(waiting)) if waiting else ''}; pods are served "
            f"whose {GPU_INDEX} a scheduler has set, one container after the other"
        )
