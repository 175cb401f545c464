"""The kubelet's own account of who has which devices, held against what was answered.

The kubelet asks without saying for which pod; afterwards it tells which has what. So a pod that was
taken for another is found before its containers start, and claims of pods that were turned away are
open again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus

import structlog

from gpupods.errors import StatusError, failed_precondition, unavailable
from gpupods.identity import PodRef
from gpupods.kube.failures import ApiError, RefusedError
from nodeagent.deviceplugin.claims import Claims, Devices, Given, are_peers
from nodeagent.deviceplugin.offer import Card
from nodeagent.deviceplugin.pod_api import PodApi
from nodeagent.deviceplugin.pods import GpuPod
from nodeagent.deviceplugin.room import has_room
from nodeagent.deviceplugin.sockets import Holders, KubeletAwayError, PodResources
from nodeagent.deviceplugin.status import Requests
from nodeagent.deviceplugin.terms import Terms

log = structlog.get_logger()


class Verification:
    """Of the ``claims`` that were taken. Not to be used by two tasks at once.

    Args:
        pods: The API server.
        resources: The kubelet's own account.
        claims: What was answered.
        requests: Where exchanges are counted.
        cards: The node's GPUs, as they are now.
        terms: How they are offered.
    """

    def __init__(
        self,
        *,
        pods: PodApi,
        resources: PodResources,
        claims: Claims,
        requests: Requests,
        cards: Callable[[], Sequence[Card]],
        terms: Terms,
    ) -> None:
        self._pods = pods
        self._resources = resources
        self._claims = claims
        self._requests = requests
        self._cards = cards
        self._terms = terms

    async def check(self, devices: Devices) -> None:
        """Before a container with these devices starts.

        Raises:
            StatusError: it must not.
        """
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

    async def release(self) -> bool:
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
                raise unknown_pod(error) from error
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
        self._requests.exchanged += 1
        log.info("device_plugin.exchanged", pod=str(holder), meant=str(given.ref))

    async def _inherit(self, has: GpuPod, given: Given) -> None:
        """Who was meant has gone, so that a scheduler may have given its GPUs to yet another."""
        others = await self._pods.on_node()
        if not has_room(has, given.indexes, others, self._cards(), self._terms.unit_mib):
            raise _wrong(has, given, f"{given.ref} has gone, and others have them by now")
        await self._pods.annotate(has, assigned=True, indexes=given.indexes)
        self._claims.inherit(has, given)

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


def unknown_pod(error: ApiError) -> StatusError:
    """What fails at the API server, in words for the pod's status."""
    return unavailable(f"which pod this is for cannot be found out: {error}")
