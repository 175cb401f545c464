"""Pods come, start, are refused and deleted in any order: who runs has the GPU that it says.

It was tried with hundreds of seeds, and a few are tried on each run.
"""

from __future__ import annotations

import random

import pytest

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY, GPU_NUMBER
from simulator.kubelet_plugins import PodRefusedError
from tests.pluginbed import NUMBER, SHARE, Bed, Wanted, bed

GPUS = 4
TELLING = (68, 96, 232, 286)
"""In these a pod inherits the GPU of one that is gone, while a third has what was chosen for it."""


def whole_gpus(chance: random.Random) -> list[Wanted]:
    """Pods with one GPU or two, each of which has its own."""
    free = chance.sample(range(GPUS), GPUS)
    pods: list[Wanted] = []
    while free:
        count = chance.choice([1, 1, 2]) if len(free) > 1 else 1
        limits = {f"c{at}": {GPU_NUMBER: 1} for at in range(count)}
        index = ",".join(map(str, sorted(free.pop() for _ in range(count))))
        pods.append(Wanted(f"p{len(pods)}", limits, index, chance.randint(1, 9)))
    return pods


def shared_gpus(chance: random.Random) -> list[Wanted]:
    """Pods that share GPUs; some of them no scheduler has seen, or one that cannot count."""
    pods = []
    for number in range(chance.randint(3, 6)):
        limits = {
            f"c{at}": {GPU_MEMORY: chance.choice([5, 5, 5, 7])}
            for at in range(chance.choice([1, 1, 1, 2]))
        }
        index = chance.choice([*"01230123", "9", None])
        pods.append(Wanted(f"p{number}", limits, index, chance.randint(1, 9)))
    return pods


class Crowd:
    """What happens to the pods of one run."""

    def __init__(self, made: Bed, chance: random.Random, pods: list[Wanted]) -> None:
        self._bed = made
        self._chance = chance
        self._coming = chance.sample(pods, len(pods))
        self._starting: list[Wanted] = []
        self.given: dict[str, dict[str, dict[str, str]]] = {}
        self.running: list[Wanted] = []

    async def go(self) -> None:
        while self._coming or self._starting:
            what = self._chance.random()
            if self._coming and what < 0.6:
                await self._come(self._coming.pop())
            elif self._starting and what < 0.8:
                await self._start(self._one_that_starts())
            elif self._starting:
                self._delete(self._one_that_starts())

    def _one_that_starts(self) -> Wanted:
        return self._starting.pop(self._chance.randrange(len(self._starting)))

    async def _come(self, pod: Wanted) -> None:
        try:
            self.given[pod.name] = await self._bed.kubelet.admit(pod.ref, pod.containers)
        except PodRefusedError:
            if self._chance.random() < 0.5:  # else it is pending for a moment yet
                self._set_phase(pod, "Failed")
        else:
            self._starting.append(pod)

    async def _start(self, pod: Wanted) -> None:
        try:
            await self._bed.kubelet.start_containers(pod.ref, pod.containers)
        except PodRefusedError:
            return
        self._set_phase(pod, "Running")
        self.running.append(pod)

    def _set_phase(self, pod: Wanted, phase: str) -> None:
        stored = self._bed.server.store.get("pods", str(pod.ref))
        assert stored is not None
        self._bed.server.store.put("pods", {**stored.object, "status": {"phase": phase}})

    def _delete(self, pod: Wanted) -> None:
        self._bed.server.store.remove("pods", str(pod.ref))
        self._bed.kubelet.remove_pod(pod.ref)

    def seen_by(self, pod: Wanted) -> list[str]:
        """The UUIDs that its containers were given."""
        return [each["NVIDIA_VISIBLE_DEVICES"] for each in self.given[pod.name].values()]


@pytest.mark.parametrize("seed", [*range(12), *TELLING])
async def test_who_runs_has_what_it_says(seed: int) -> None:
    chance = random.Random(seed)
    whole = seed % 2 == 0
    terms, pods = (NUMBER, whole_gpus(chance)) if whole else (SHARE, shared_gpus(chance))
    async with bed(terms, (60_000,) * GPUS, look_for_s=0.05) as made:
        made.bind(*pods)
        crowd = Crowd(made, chance, pods)
        await crowd.go()
        for pod in crowd.running:
            said = {made.uuid(int(at)) for at in made.annotations(pod)[GPU_INDEX].split(",")}
            assert set(crowd.seen_by(pod)) == said, pod.name
        if whole:
            seen = [uuid for pod in crowd.running for uuid in crowd.seen_by(pod)]
            assert len(set(seen)) == len(seen), "each has its own"
