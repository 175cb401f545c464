"""Answers the kubelet's requests for devices, one after the other.

Which pod a request is for is decided in `nodeagent.deviceplugin.claims`, what it is given in
`nodeagent.deviceplugin.grant`. Before a container starts, the kubelet's own account tells whether
the right pod was meant; if not, the two pods' annotations are exchanged, or it does not start.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus

import structlog

from gpupods.accounting.names import GPU_INDEX
from gpupods.errors import StatusError, failed_precondition, not_found, unavailable
from gpupods.identity import PodRef
from gpupods.kube.failures import ApiError, RefusedError
from nodeagent.deviceplugin.claims import Claims, Devices, Given, Match, are_peers
from nodeagent.deviceplugin.grant import Environment, grant, preferred
from nodeagent.deviceplugin.marks import Marks
from nodeagent.deviceplugin.offer import Card
from nodeagent.deviceplugin.pod_api import PodApi
from nodeagent.deviceplugin.pods import GpuPod
from nodeagent.deviceplugin.room import has_room
from nodeagent.deviceplugin.sockets import Holders, KubeletAwayError, PodResources
from nodeagent.deviceplugin.status import Requests
from nodeagent.deviceplugin.terms import Terms

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
        self._resources = resources
        self._cards = cards
        self._terms = terms
        self._look_for_s = look_for_s
        self._claims = Claims()
        self.marks = Marks(pods)
        self.requests = Requests()
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
                await self._check((resource, ids))

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

    async def _check(self, devices: Devices) -> None:
        given = self._claims.given(devices)
        if given is None:
            return  # it was found right before, or was given by an agent that runs no more
        holders = await self._holders()
        holder = holders.get(devices) if holders is not None else None
        if holders is not None and holder is not None:
            theirs = [each for each, ref in holders.items() if ref == holder]
            await self._check_holder(holder, theirs)
        elif holders is None or not given.told:
            self._claims.settle(devices)
        else:
            raise unavailable(
                "the kubelet does not tell whose devices these are, which were chosen for "
                f"{given.ref}: it is asked again at the next attempt; should that go on, delete "
                "the pod"
            )

    async def _find(self, resource: str, ids: frozenset[str]) -> Match:
        """Raises StatusError: no pod fits."""
        ends = time.monotonic() + self._look_for_s
        while True:
            last = time.monotonic() >= ends
            try:
                pods = await self._pods.pending()
            except ApiError as error:
                if last:
                    raise _unknown_pod(error) from error
            else:
                found = await self._match(pods, resource, len(ids))
                if found is not None and (found.pod.indexes or last):
                    return found
                if last:
                    raise not_found(self._nobody(resource, len(ids), pods))
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _match(self, pods: Sequence[GpuPod], resource: str, count: int) -> Match | None:
        found = self._claims.match(pods, resource, count)
        if found is None and await self._released():
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

    async def _released(self) -> bool:
        """Take claims back from pods that the kubelet has turned away since. Whether there were."""
        unsettled = self._claims.unsettled()
        if not unsettled or not self._resources.is_there():
            return False
        try:
            holders = await self._resources.holders()
        except KubeletAwayError as error:
            log.warning("device_plugin.holders_unknown", error=str(error))
            return False
        free = [devices for devices in unsettled if not _is_held(devices, holders)]
        for devices in free:
            self._claims.release(devices)
        return bool(free)

    async def _holders(self) -> Holders | None:
        """None: there is nobody to ask."""
        if not self._resources.is_there():
            return None
        try:
            return await self._resources.holders()
        except KubeletAwayError as error:
            raise unavailable(str(error)) from error

    async def _check_holder(self, holder: PodRef, theirs: Sequence[Devices]) -> None:
        """All containers of a pod have their devices before the first of them starts."""
        known = [given for each in theirs if (given := self._claims.given(each))]
        if len({given.uid for given in known}) > 1:
            others = sorted({str(given.ref) for given in known if given.ref != holder})
            raise failed_precondition(
                f"some containers of {holder} were given GPUs that were chosen for "
                f"{', '.join(others)}, which asked for as much at the same time; delete {holder}"
            )
        if known and known[0].ref != holder:
            try:
                await self._set_right(known[0], holder)
            except ApiError as error:
                raise _unknown_pod(error) from error
        for each in theirs:
            self._claims.settle(each)

    async def _set_right(self, given: Given, holder: PodRef) -> None:
        """Another pod than was meant has the GPUs: let each say which it has.

        Raises:
            StatusError: the two are not alike, or the GPUs are another's by now.
            ApiError: one of them could not be written to.
        """
        has = await self._pods.read(holder)
        meant = await self._meant(given)
        if not has.indexes or has.node != self._pods.node:
            raise _wrong(has, given, has.problem)
        if meant is None:
            await self._inherit(has, given)
        elif are_peers(has, meant):
            await self._exchange(has, meant, given)
        else:
            raise _wrong(has, given)
        self.requests.exchanged += 1
        log.info("device_plugin.exchanged", pod=str(holder), meant=str(given.ref))

    async def _inherit(self, has: GpuPod, given: Given) -> None:
        """Who was meant has gone, so that a scheduler may have given its GPUs to yet another."""
        others = await self._pods.on_node()
        if not has_room(has, given.indexes, others, self._cards(), self._terms.unit_mib):
            raise _wrong(has, given, f"{given.ref} has gone, and others have them by now")
        await self._pods.annotate(has, assigned=True, indexes=given.indexes)

    async def _exchange(self, has: GpuPod, meant: GpuPod, given: Given) -> None:
        """Until both are written, what one of them may have is counted with the first."""
        before = tuple(each for each in has.indexes if each not in given.indexes) or has.indexes
        if len(before) != len(given.indexes):
            raise _wrong(has, given)
        if before != given.indexes:
            both = tuple(sorted({*before, *given.indexes}))
            await self._pods.annotate(has, assigned=True, indexes=both)
        served = self._claims.is_served(has)
        await self._pods.annotate(meant, assigned=served, indexes=before)
        await self._pods.annotate(has, assigned=True, indexes=given.indexes)
        self._claims.exchange(has, meant)

    async def _meant(self, given: Given) -> GpuPod | None:
        """The pod whose claim was taken; None: it is gone, or holds nothing any more."""
        try:
            pod = await self._pods.read(given.ref)
        except RefusedError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return None
        return pod if pod.uid == given.uid and not pod.ended else None


def _is_held(devices: Devices, holders: Holders) -> bool:
    resource, ids = devices
    return any(resource == each and ids & held for each, held in holders)


def _wrong(has: GpuPod, given: Given, because: str = "") -> StatusError:
    """A pod must not run on the GPUs that it was given."""
    return failed_precondition(
        f"{has.ref} was given the GPUs that were chosen for {given.ref} "
        f"({','.join(map(str, given.indexes))}), which asked for as much at the same time; "
        f"delete {has.ref}{': ' + because if because else ''}"
    )


def _unknown_pod(error: ApiError) -> StatusError:
    """What fails at the API server, in words for the pod's status."""
    return unavailable(f"which pod this is for cannot be found out: {error}")
