"""What the simulated sources of health tell, where several things happen before they look."""

from __future__ import annotations

import asyncio
import contextlib

from nodeagent.health.observations import XidOfGpu
from simulator.changes import recover, report_xid
from simulator.health import SimulatedHealth
from tests.simulator.running import patiently
from tests.unit.simulator.small import small


def xids(told: list[object]) -> list[int]:
    return [each.seen.xid for each in told if isinstance(each, XidOfGpu)]


async def test_an_xid_right_after_a_restart_is_told() -> None:
    world = small()
    told: list[object] = []
    report_xid(world.cluster, world.node, 0, 79)
    watching = asyncio.create_task(SimulatedHealth(world.node).watch(told.append))
    try:
        async for _ in patiently():
            if xids(told) == [79]:
                break
        recover(world.cluster, world.node, 0)
        report_xid(world.cluster, world.node, 1, 48)
        async for _ in patiently():
            if len(xids(told)) > 1:
                break
        assert xids(told) == [79, 48]
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
