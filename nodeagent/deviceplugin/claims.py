"""Whose turn it is: the kubelet asks for so many devices and does not say for which pod. Pure.

A pod has a claim to the GPUs that a scheduler has chosen for it. A request takes the claim that it
fits best; when it is known afterwards that another pod has made it, the two exchange claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from gpupods.identity import PodRef, PodUid
from nodeagent.deviceplugin.pods import Ask, GpuPod

Done = frozenset[int]
"""Which of a pod's requests were answered, by their places in `GpuPod.asks`."""

Devices = tuple[str, frozenset[str]]
"""A resource, and the ids of the devices that one container has of it."""

NOTHING: Done = frozenset()


@dataclass(frozen=True, slots=True)
class Match:
    """A request, and the pod that it is taken to come from."""

    pod: GpuPod
    place: int

    @property
    def ask(self) -> Ask:
        """The pod's request."""
        return self.pod.asks[self.place]


@dataclass(frozen=True, slots=True)
class Given:
    """An answered request: whose claim was taken, and which GPUs that is."""

    uid: PodUid
    ref: PodRef
    place: int
    indexes: tuple[int, ...]
    told: bool
    """See `Ask.told`."""


def match(
    pods: Iterable[GpuPod],
    served: Mapping[PodUid, Done],
    resource: str,
    count: int,
    turned_away: AbstractSet[PodUid] = frozenset(),
) -> Match | None:
    """The pod that asks for ``count`` of ``resource`` now.

    The kubelet asks for one container after the other, and for one pod after the other. So one
    that has begun comes first, else the one whose GPUs were chosen first. Only a container whose
    turn it is can be meant, and a pod without chosen GPUs only if there is no other. One that was
    ``turned_away`` is pending still until the kubelet has told the API server, and asks no more.
    """
    fitting = []
    for pod in pods:
        done = answered(pod, served)
        place = next_place(pod, done, resource)
        if place is not None and pod.asks[place].count == count:
            away = pod.uid in turned_away
            order = (away, not done, not pod.indexes, pod.predicate_time, pod.uid)
            fitting.append((order, Match(pod, place)))
    return min(fitting, key=lambda each: each[0])[1] if fitting else None


def answered(pod: GpuPod, served: Mapping[PodUid, Done]) -> Done:
    """Which of its requests were; of a pod that was not served here, what it says itself.

    A claim that was taken back here is open again, whatever the pod says.
    """
    itself = frozenset(range(len(pod.asks))) if pod.assigned else NOTHING
    return served.get(pod.uid, itself)


def next_place(pod: GpuPod, done: Done, resource: str) -> int | None:
    """The first of its requests for ``resource`` that was not answered."""
    asks = enumerate(pod.asks)
    return next((at for at, ask in asks if ask.resource == resource and at not in done), None)


def are_peers(one: GpuPod, other: GpuPod) -> bool:
    """Whether they ask for the same, so that nobody's account changes when they exchange."""
    return _wanted(one) == _wanted(other)


def _wanted(pod: GpuPod) -> Sequence[tuple[str, int, int]]:
    return [(ask.resource, ask.count, ask.first) for ask in pod.asks]


class Claims:
    """Which claims were taken, as long as that matters."""

    def __init__(self) -> None:
        self._served: dict[PodUid, Done] = {}
        self._given: dict[Devices, Given] = {}
        self._turned_away: set[PodUid] = set()

    def match(self, pods: Sequence[GpuPod], resource: str, count: int) -> Match | None:
        """See `match`. ``pods`` are all that are pending: others are forgotten."""
        here = {pod.uid for pod in pods}
        self._served = {uid: done for uid, done in self._served.items() if uid in here}
        self._turned_away &= here
        return match(pods, self._served, resource, count, self._turned_away)

    def take(self, found: Match, ids: frozenset[str]) -> bool:
        """The request for these devices was answered with the claim of ``found``.

        Returns: whether that was the pod's last.
        """
        pod = found.pod
        resource = found.ask.resource
        self._served[pod.uid] = answered(pod, self._served) | {found.place}
        # What had them before has ended.
        kept = {each: given for each, given in self._given.items() if _apart(each, resource, ids)}
        new = Given(pod.uid, pod.ref, found.place, pod.indexes, found.ask.told)
        self._given = kept | {(resource, ids): new}
        return self.is_served(pod)

    def turn_away(self, pod: GpuPod) -> None:
        """The request that was taken for this pod's was refused."""
        self._turned_away.add(pod.uid)

    def is_served(self, pod: GpuPod) -> bool:
        """Whether all of the pod's claim was taken."""
        return len(answered(pod, self._served)) == len(pod.asks)

    def given(self, devices: Devices) -> Given | None:
        """What these devices were answered with, until it is settled."""
        return self._given.get(devices)

    def unsettled(self) -> tuple[Devices, ...]:
        """Devices of which it is not known yet that the right pod has them, and can be."""
        return tuple(devices for devices, given in self._given.items() if given.told)

    def settle(self, devices: Devices) -> None:
        """The right pod has them."""
        self._given.pop(devices, None)

    def release(self, devices: Devices) -> None:
        """Nobody has them, as the kubelet has turned their pod away: the claim is open again."""
        given = self._given.pop(devices, None)
        if given is not None and given.uid in self._served:
            self._served[given.uid] -= {given.place}
            self._turned_away.add(given.uid)

    def exchange(self, one: GpuPod, other: GpuPod) -> None:
        """Each of two peers has the other's claim from now on."""
        ours, theirs = answered(one, self._served), answered(other, self._served)
        self._served |= {one.uid: theirs, other.uid: ours}
        self._swap((one.uid, one.ref), (other.uid, other.ref))

    def inherit(self, heir: GpuPod, gone: Given) -> None:
        """The pod has a claim of one that is gone, whose own claim is nobody's from now on.

        Who was given that is then no more taken to have it from the heir.
        """
        self._served[heir.uid] = frozenset(range(len(heir.asks)))
        self._swap((heir.uid, heir.ref), (gone.uid, gone.ref))

    def _swap(self, one: tuple[PodUid, PodRef], other: tuple[PodUid, PodRef]) -> None:
        now = {one[0]: other, other[0]: one}
        for devices, given in self._given.items():
            if given.uid in now:
                uid, ref = now[given.uid]
                self._given[devices] = replace(given, uid=uid, ref=ref)


def _apart(devices: Devices, resource: str, ids: frozenset[str]) -> bool:
    return devices[0] != resource or devices[1].isdisjoint(ids)
