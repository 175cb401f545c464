"""Eviction's way to the API server: a pod is read, evicted, and told why in an Event.

Nothing is ever deleted: the eviction API keeps to PodDisruptionBudgets.
"""

from __future__ import annotations

import enum
import socket
import time
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from controller.eviction.decide import PodNow, PodOnGpu
from gpupods.identity import PodRef, PodUid
from gpupods.kube.api import Json, KubeApi
from gpupods.kube.events import WARNING, Teller, about_pod, event
from gpupods.kube.failures import MalformedError, RefusedError
from gpupods.kube.objects import OwnerReference, Shape
from gpupods.kube.paths import events_path, pod_path

LIMIT_S = 10.0
NEEDED = (
    "the controller's role must allow get of pods, create of pods/eviction and create of events "
    "(manifests/components/eviction)"
)
FATE_UNKNOWN = (
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""A proxy's, or the server's own, when it has not waited for the end of what it began."""
COMPONENT = "gpupods-controller"


class _Meta(Shape, frozen=True):
    uid: str
    deletion_timestamp: str | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class _Status(Shape, frozen=True):
    phase: str = ""


class _Pod(Shape, frozen=True):
    metadata: _Meta
    status: _Status | None = None


class Outcome(enum.Enum):
    """What has become of a pod that was to be evicted."""

    EVICTED = "evicted"
    GONE = "gone"
    """It was not there any more."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The API server did not evict a pod: a budget, mostly. It may later."""

    why: str
    retry_after_s: float


class PodEvictions:
    """Reads and evicts pods over ``api``."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    async def read(self, ref: PodRef) -> PodNow | None:
        """The pod as it is now; None: there is none.

        Raises:
            ApiError: it could not be read.
        """
        try:
            answer = await self._api.ask("GET", pod_path(ref), limit_s=LIMIT_S, needed=NEEDED)
        except RefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return _pod_now(answer)

    async def evict(self, ref: PodRef, uid: PodUid) -> Outcome | Refusal:
        """Evict the pod of this name and uid.

        Raises:
            ApiError: whether it was evicted is not known.
        """
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": ref.namespace, "name": ref.name},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        path = f"{pod_path(ref)}/eviction"
        try:
            await self._api.ask("POST", path, body, limit_s=LIMIT_S, needed=NEEDED)
        except RefusedError as error:
            if error.status in FATE_UNKNOWN:
                raise
            if error.status == HTTPStatus.NOT_FOUND or (
                error.status == HTTPStatus.CONFLICT and await self._is_another(ref, uid)
            ):
                return Outcome.GONE
            return Refusal(str(error), error.retry_after_s)
        return Outcome.EVICTED

    async def _is_another(self, ref: PodRef, uid: PodUid) -> bool:
        """A conflict may be about the uid, or about a change that came between."""
        now = await self.read(ref)
        return now is None or now.uid != uid

    async def tell(self, pod: PodOnGpu, reason: str, message: str) -> None:
        """Put an Event on the pod.

        Raises:
            ApiError: it is not there, or that is not known.
        """
        about, teller = about_pod(pod.ref, pod.uid), Teller(COMPONENT, socket.gethostname())
        body = event(about, teller, kind=WARNING, reason=reason, message=message, now=time.time())
        path = events_path(pod.ref.namespace)
        await self._api.ask("POST", path, body, limit_s=LIMIT_S, needed=NEEDED)


def _pod_now(answer: Json) -> PodNow:
    try:
        pod = msgspec.convert(answer, _Pod)
    except msgspec.ValidationError as error:
        raise MalformedError(f"the answer is no Pod: {error}") from error
    owner = next((each for each in pod.metadata.owner_references or () if each.controller), None)
    return PodNow(
        uid=PodUid(pod.metadata.uid),
        phase=pod.status.phase if pod.status is not None else "",
        deleting=pod.metadata.deletion_timestamp is not None,
        annotations=pod.metadata.annotations or {},
        owner=None if owner is None else (owner.kind, owner.name),
    )
