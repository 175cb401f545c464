"""Whatever goes wrong, and in whatever order: no card is ever bound to more than it can take.

Two replicas lead in turn. Bindings are refused, lost after they were done, or done late; watches
bring what has happened late; pods go; time passes. It was tried with thousands of seeds, and a
few are tried on each run.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from controller.cache.cluster import NODES, PODS, ClusterCache
from controller.cache.gpus import GpuIndex
from controller.cache.records import NodeRecord, PodGpus, PodRecord
from controller.extender.binding import Binder, NotBoundError
from controller.extender.leadership import Leadership
from controller.extender.wire import ExtenderBindingArgs
from gpupods.accounting.names import GPU_INDEX
from gpupods.accounting.request import GpuRequest
from gpupods.identity import NodeName, PodUid
from gpupods.kube.failures import RefusedError, UnreachableError

Json = dict[str, Any]

CARD = 100
HOLD_S = 60.0
LIMIT_S = 1.0
"""A binding is done within that, or not at all."""
STEPS = 300
NODE_NAMES = (NodeName("n1"), NodeName("n2"))


@dataclass(frozen=True)
class Stored:
    """A pod as the API server has it."""

    name: str
    request: GpuRequest
    node: str = ""
    indexes: str = ""

    @property
    def record(self) -> PodRecord:
        gpus = PodGpus(self.request, self.indexes or None)
        return PodRecord(
            PodUid(self.name), "team", self.name, NodeName(self.node), "Pending", gpus=gpus
        )


class Server:
    """An API server that answers as it likes."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.now = 0.0
        self.pods: dict[str, Stored] = {}
        self.events: list[tuple[str, Stored | None]] = []
        self._late: list[tuple[float, Json]] = []

    def put(self, pod: Stored) -> None:
        self.pods[pod.name] = pod
        self.events.append((pod.name, pod))

    def delete(self, name: str) -> None:
        del self.pods[name]
        self.events.append((name, None))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for late in [each for each in self._late if each[0] <= self.now]:
            self._late.remove(late)
            self._bind(late[1])

    async def ask(self, method: str, path: str, body: Json, **_: Any) -> Json:
        """As `KubeApi.ask`."""
        if self.chance.random() < 0.3:
            await asyncio.sleep(0)
        how = self.chance.random()
        if how < 0.5:
            return self._bind(body, answering=True)
        if how < 0.6:
            self._bind(body)
        elif how < 0.8:
            self._late.append((self.now + self.chance.random() * LIMIT_S, body))
        elif how < 0.9:
            raise RefusedError(self.chance.choice([403, 429, 500]), "scripted")
        raise UnreachableError("no answer in time")

    def _bind(self, body: Json, *, answering: bool = False) -> Json:
        metadata = body["metadata"]
        pod = self.pods.get(metadata["name"])
        if pod is not None and not pod.node:
            indexes = metadata["annotations"][GPU_INDEX]
            self.put(replace(pod, node=body["target"]["name"], indexes=indexes))
            self.check()
        elif answering:
            raise RefusedError(404 if pod is None else 409, "there is none, or it is bound")
        return {}

    def check(self) -> None:
        """No card has more than it can take."""
        for node in NODE_NAMES:
            for index in range(2):
                there = [
                    pod
                    for pod in self.pods.values()
                    if pod.node == node and str(index) in pod.indexes.split(",")
                ]
                whole = [pod for pod in there if pod.request.number]
                assert sum(pod.request.memory for pod in there) <= CARD, there
                assert not whole or len(there) == 1, there


class Replica:
    """One controller: its cache, and its part in the election."""

    def __init__(self, server: Server, leader: list[Replica]) -> None:
        self._server = server
        self._leader = leader
        self._heard = 0
        self.cache = ClusterCache(GpuIndex(lambda: server.now, HOLD_S))
        for kind in (PODS, NODES):
            self.cache.report_listed(kind)
        for name in NODE_NAMES:
            self.see(name)
        self.leadership = Leadership(self, 0.0, lambda: server.now, self.catch_up)
        self.binder = Binder(
            self.cache,
            server,  # type: ignore[arg-type]
            self.leadership,
            str,
            LIMIT_S,
        )

    def see(self, name: NodeName, unhealthy: str | None = None) -> None:
        """Hear of a node."""
        memory = str(2 * CARD)
        node = NodeRecord(name, name, unhealthy_ids=unhealthy, gpu_memory=memory, gpu_number="2")
        self.cache.put_node(node)

    def hear(self, most: int | None = None) -> None:
        """What the watch brings: some of what has happened, or all."""
        news = self._server.events[self._heard :][:most]
        self._heard += len(news)
        for name, pod in news:
            if pod is None:
                self.cache.remove_pod(PodUid(name))
            else:
                self.cache.put_pod(pod.record)

    async def catch_up(self) -> None:
        self.hear()

    async def bind(self, name: str, node: str) -> None:
        with contextlib.suppress(NotBoundError):
            await self.binder.bind(ExtenderBindingArgs(name, "team", name, node))

    # As the election

    def leads(self) -> bool:
        return self._leader[0] is self

    def leader(self) -> str:
        return ""

    def standing(self) -> str:
        return "a standby"


def requests(chance: random.Random) -> Iterator[GpuRequest]:
    while True:
        memory = chance.choice([30, 50, 100])
        yield GpuRequest(memory, 0) if chance.random() < 0.7 else GpuRequest(0, memory // 50 or 1)


class Run:
    """One sequence of what may happen."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._server = Server(self._chance)
        self._leader: list[Replica] = []
        self._replicas = tuple(Replica(self._server, self._leader) for _ in range(2))
        self._leader.append(self._replicas[0])
        self._wanted = requests(self._chance)
        self.bound: set[str] = set()

    async def go(self) -> None:
        happening = {
            self._come: 20,
            self._go: 10,
            self._hear: 20,
            self._wait: 10,
            self._lead: 3,
            self._see: 3,
            self._bind: 34,
        }
        for step in self._chance.choices(list(happening), list(happening.values()), k=STEPS):
            await step()
            self.bound |= {pod.name for pod in self._server.pods.values() if pod.node}
        for replica in self._replicas:
            replica.leadership.close()

    async def _come(self) -> None:
        self._server.put(Stored(f"p{len(self._server.events)}", next(self._wanted)))

    async def _go(self) -> None:
        if self._server.pods:
            self._server.delete(self._chance.choice(list(self._server.pods)))

    async def _hear(self) -> None:
        self._chance.choice(self._replicas).hear(self._chance.randint(1, 5))

    async def _wait(self) -> None:
        for _ in range(self._chance.choice([1, 10, 70])):
            self._server.pass_time(1.0)
        for replica in self._replicas:  # who is longer behind knows it, and binds nothing
            replica.hear()

    async def _lead(self) -> None:
        self._server.pass_time(LIMIT_S + 0.01)  # before another leads, what was begun is over
        self._leader[0] = self._chance.choice(self._replicas)
        for replica in self._replicas:
            replica.leadership.changed()

    async def _see(self) -> None:
        self._leader[0].see(self._chance.choice(NODE_NAMES), self._chance.choice([None, "0", "1"]))

    async def _bind(self) -> None:
        names = list(self._server.pods)
        some = self._chance.choices(names, k=self._chance.randint(1, 4)) if names else []
        attempts = (self._leader[0].bind(each, self._chance.choice(NODE_NAMES)) for each in some)
        await asyncio.gather(*attempts)


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """For pods that the cache has not heard of yet."""
    monkeypatch.setattr("controller.extender.binding.POD_LIMIT_S", 0.0)
    monkeypatch.setattr("controller.extender.binding._LOOK_EVERY_S", 0.0)


async def test_no_card_is_given_twice() -> None:
    bound = 0
    for seed in range(40):
        run = Run(seed)
        await run.go()
        bound += len(run.bound)
    assert bound > 400, "else little has been tried"
