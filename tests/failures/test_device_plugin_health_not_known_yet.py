"""A GPU failed before the agent's start: it is offered to nobody before that has been heard."""

from __future__ import annotations

import asyncio

import pytest

from gpupods.identity import GpuUuid
from nodeagent.health.observations import CaughtUp, Tell, XidOfGpu, XidSeen
from simulator.kubelet_plugins import PodRefusedError
from tests.pluginbed import bed, sharing, until

LOG = "a log"


class LateLog:
    """A source that tells of what was before the start, when it is let."""

    def __init__(self, uuid: str) -> None:
        self._uuid = GpuUuid(uuid)
        self.go_on = asyncio.Event()

    async def watch(self, tell: Tell) -> None:
        await self.go_on.wait()
        tell(XidOfGpu(self._uuid, "", XidSeen(79, 0.0, LOG, "")))
        tell(CaughtUp(LOG))
        await asyncio.sleep(3600)


async def test_it_is_not_given() -> None:
    async with bed() as made:
        await made.stop_plugin()
        await until(lambda: not any(made.kubelet.allocatable.values()))
        log = LateLog(made.uuid(1))
        made.monitor = made._monitor()
        made.monitor.add_source(log, backlog=LOG)
        await made.start_plugin()
        await until(lambda: made.monitor.verdicts)
        await asyncio.sleep(0.1)
        assert all(each.devices.encoded is None for each in made.plugin.endpoints)
        log.go_on.set()
        await made.until_offered()
        pod = sharing("one", 5, "1")
        made.bind(pod)
        with pytest.raises(PodRefusedError, match="GPU 1, which is unfit: XID 79"):
            await made.run(pod)
