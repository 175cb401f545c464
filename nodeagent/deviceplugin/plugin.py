"""The device plugin of a node: what is known of its GPUs, offered to the kubelet.

Before the GPUs have been judged nothing is registered: the kubelet then keeps what it knew, and
gives nobody a GPU of which it is not known yet that it is unfit. A GPU whose memory no driver has
ever told is left out of the memory's list, and said to be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from gpupods.kube.backoff import Backoff
from nodeagent.deviceplugin.allocator import LOOK_FOR_S, Allocator
from nodeagent.deviceplugin.endpoint import LOOK_EVERY_S, UNWATCHED_S, Endpoint
from nodeagent.deviceplugin.memory import GpuMemory
from nodeagent.deviceplugin.offer import (
    RESOURCES,
    Card,
    Offer,
    TooManyError,
    cards_of,
    encode,
    offer,
)
from nodeagent.deviceplugin.pod_api import PodApi
from nodeagent.deviceplugin.sockets import KubeletFolder, PodResources
from nodeagent.deviceplugin.status import (
    MOST_SHOWN,
    DevicePluginStatus,
    ResourceStatus,
    too_many_to_be_shown,
)
from nodeagent.deviceplugin.terms import Terms
from nodeagent.gpus.sample import GpuSample
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.verdict import Verdict

SAMPLE_LIMIT_S = 10.0
SETTLE_S = 0.02
"""GPUs that fail together are told to the kubelet together."""
MEMORY_ASKED_S = 60.0
"""The longest pause between two questions for a memory that is not known."""
PATIENCE = 4
"""So many questions before the kubelet is told of a node whose GPUs are not all known."""

log = structlog.get_logger()

Sample = Callable[[float], Awaitable[GpuSample]]
"""Asks the driver, for so many seconds at most."""


class DevicePlugin:
    """Offers the GPUs of ``monitor`` from `start` to `stop`. Use it in one event loop.

    Args:
        monitor: Which GPUs there are, and how they stand.
        sample: Where their memory is known from.
        pods: The API server.
        folder: The kubelet's.
        resources: The kubelet's own account.
        terms: How the GPUs are offered.
        state_dir: Where their memory is remembered; None: nowhere.
        look_every_s: See `Endpoint`, as ``unwatched_s``.
        look_for_s: See `Allocator`.
    """

    def __init__(
        self,
        *,
        monitor: HealthMonitor,
        sample: Sample,
        pods: PodApi,
        folder: KubeletFolder,
        resources: PodResources,
        terms: Terms,
        state_dir: Path | None,
        look_every_s: float = LOOK_EVERY_S,
        unwatched_s: float = UNWATCHED_S,
        look_for_s: float = LOOK_FOR_S,
    ) -> None:
        self._monitor = monitor
        self._sample = sample
        self._terms = terms
        self._memory = GpuMemory(state_dir)
        self._news = asyncio.Event()
        self._offered: dict[str, Offer] = {}
        self._problem = ""
        self._can_check = resources.is_there
        self._tasks: list[asyncio.Task[None]] = []
        self._ignore: Callable[[], None] = _nothing
        self.allocator = Allocator(pods, resources, self.cards, terms, look_for_s)
        self.endpoints = tuple(
            Endpoint(
                each, folder, self.allocator, look_every_s=look_every_s, unwatched_s=unwatched_s
            )
            for each in RESOURCES
        )

    def cards(self) -> tuple[Card, ...]:
        """The node's GPUs, as they are now."""
        return cards_of(self._monitor.verdicts, self._memory.known)

    @property
    def status(self) -> DevicePluginStatus:
        """How it fares now."""
        return DevicePluginStatus(
            tuple(map(self._resource, self.endpoints)),
            self.allocator.requests,
            self.allocator.marks.late,
            self._can_check(),
            max((block.size for each in self._offered.values() for block in each), default=0),
            self._problem,
        )

    def _resource(self, endpoint: Endpoint) -> ResourceStatus:
        blocks = self._offered.get(endpoint.resource, ())
        return ResourceStatus(
            endpoint.resource,
            endpoint.registered,
            endpoint.registrations,
            sum(block.size for block in blocks),
            sum(block.size for block in blocks if not block.healthy),
            endpoint.problem,
        )

    async def start(self) -> None:
        """Offer what there is, and follow it."""
        await self._memory.load()
        self._ignore = self._monitor.subscribe(self._heard)
        work = [self._follow(), *(endpoint.run() for endpoint in self.endpoints)]
        self._tasks = [asyncio.create_task(each) for each in work]

    async def stop(self) -> None:
        """Serve no more. The kubelet keeps the node's capacity for some minutes."""
        self._ignore()
        self._ignore = _nothing
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._tasks = []
        await self.allocator.close()
        for endpoint in self.endpoints:
            await endpoint.stop()

    def _heard(self, _: tuple[Verdict, ...]) -> None:
        self._news.set()

    async def _follow(self) -> None:
        """Until cancelled. No failure ends it: what is offered would stay for ever as it is."""
        pauses = Backoff(first_s=0.5, most_s=MEMORY_ASKED_S)
        asked = 0
        while True:
            self._news.clear()
            try:
                if self._monitor.judged and (not asked or self._unknown()):
                    asked += 1
                    await self._memory.learn(await self._sample(SAMPLE_LIMIT_S))
                unknown = self._unknown()
                if self._monitor.judged and (not unknown or asked >= PATIENCE):
                    await self._offer_all(unknown)
                again = bool(unknown)
            except Exception:
                log.exception("a failure that nobody foresaw: GPUs are offered again in a moment")
                again = True
            try:
                async with asyncio.timeout(pauses.next_delay_s() if again else None):
                    await self._news.wait()
            except TimeoutError:
                continue
            pauses.reset()
            await asyncio.sleep(SETTLE_S)

    async def _offer_all(self, unknown: list[int]) -> None:
        problems = []
        if unknown:
            listed = ", ".join(map(str, unknown))
            problems.append(
                f"the driver has never told how much memory GPU {listed} has; "
                "the node's capacity is that of the others until it does"
            )
        for endpoint in self.endpoints:
            try:
                await self._offer(endpoint)
            except TooManyError as error:
                problems.append(str(error))
        self._tell("; ".join(problems))

    def _unknown(self) -> list[int]:
        return [card.index for card in self.cards() if card.memory_mib is None]

    async def _offer(self, endpoint: Endpoint) -> None:
        """Have it told to the kubelet if it differs from what was told. Raises TooManyError."""
        offered = offer(endpoint.resource, self.cards(), self._terms)
        if not offered or offered == self._offered.get(endpoint.resource):
            return
        # Hundreds of thousands of devices take a quarter of a second.
        encoded = await asyncio.to_thread(encode, offered, self._terms)
        self._offered[endpoint.resource] = offered
        endpoint.devices.put(encoded)
        log.info(
            "device_plugin.devices",
            resource=endpoint.resource,
            gpus=len(offered),
            devices=sum(block.size for block in offered),
            unhealthy=[block.prefix for block in offered if not block.healthy],
        )
        most = max(block.size for block in offered)
        if most > MOST_SHOWN:
            log.warning("device_plugin.many_devices", problem=too_many_to_be_shown(most))

    def _tell(self, problem: str) -> None:
        """Each once, and that there is none any more."""
        if problem == self._problem:
            return
        self._problem = problem
        if problem:
            log.warning("device_plugin.problem", problem=problem)
        else:
            log.info("device_plugin.problem_over")


def _nothing() -> None:
    """Before there is anything to be ended."""
