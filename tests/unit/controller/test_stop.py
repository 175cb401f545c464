"""A controller that has been stopped leaves nothing running, whenever that was."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from controller.controller import Controller
from controller.settings import ControllerSettings
from gpupods.addresses import HostPort
from gpupods.kube.access import KubeAccess

ANYWHERE = HostPort("127.0.0.1", 0)
NOBODY = "http://127.0.0.1:1"


def controller(*, leader_elect: bool = False) -> Controller:
    settings = ControllerSettings(
        grpc_listen=ANYWHERE, http_listen=ANYWHERE, leader_elect=leader_elect, evict_after=60.0
    )
    return Controller(settings, KubeAccess.without_credentials(NOBODY))


@pytest.mark.parametrize("leader_elect", [False, True])
async def test_no_task_is_left(*, leader_elect: bool) -> None:
    before = asyncio.all_tasks()
    stopped = controller(leader_elect=leader_elect)
    await stopped.start()
    await stopped.stop()
    left = {task.get_name() for task in asyncio.all_tasks() - before}
    assert not left & {"readiness", "evictor", "elector", "reflector-pods", "reflector-nodes"}


async def test_readiness_that_ends_by_itself_is_told() -> None:
    """Nobody awaits it while the controller runs, and its health would stay as it is for ever."""
    broken = controller()

    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no health service")

    broken._readiness._server.set_health = fail  # type: ignore[method-assign]
    with capture_logs() as logged:
        await broken.start()
        broken._readiness.changed()
        assert broken._ready_task is not None
        await asyncio.wait([broken._ready_task], timeout=10)
        await broken.stop()
    assert [each for each in logged if each["event"] == "readiness is told no more"]
