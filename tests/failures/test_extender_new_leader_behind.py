"""A replica that begins to lead may follow nothing any more: it binds nothing before it does."""

from __future__ import annotations

import asyncio

import pytest

from controller.extender import leadership
from tests.failures.extending import CARD, Extended, extending


async def bound_by_the_predecessor(extended: Extended) -> None:
    """The last thing it did."""
    annotations = {"volcano.sh/gpu-index": "0"}
    binding = {"metadata": {"annotations": annotations}, "target": {"name": "node-1"}}
    path = "/api/v1/namespaces/team/pods/first/binding"
    await extended.api.ask("POST", path, binding, limit_s=5)


async def test_what_it_hears_of_only_then_is_not_given_again() -> None:
    async with extending() as extended:
        extended.follows.clear()
        extended.node(gpus=1)
        for name in ("first", "second"):
            extended.pod(name, memory=CARD)
        await bound_by_the_predecessor(extended)
        binding = asyncio.create_task(extended.bind("second"))
        await asyncio.sleep(0.01)
        assert not binding.done()
        extended.show("first")
        extended.follows.set()
        assert "GPU 0 has 0 of 4096 idle" in await binding
        assert list(extended.server.bound) == ["first"]


async def test_while_that_fails_the_scheduler_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "CATCH_UP_S", 0.01)
    async with extending() as extended:
        extended.follows.clear()
        extended.node(gpus=1)
        extended.pod("first", memory=CARD)
        assert "has just begun to lead, and does not follow" in await extended.bind("first")
        extended.follows.set()
        assert await extended.bind("first") == ""


async def test_it_catches_up_each_time_that_it_begins_to_lead() -> None:
    async with extending() as extended:
        extended.node(gpus=1)
        for name in ("first", "second"):
            extended.pod(name, memory=CARD)
        election = extended.extender._leadership
        election.changed()
        await asyncio.sleep(0)
        extended.replicas.is_leader = False
        election.changed()
        extended.follows.clear()
        extended.replicas.is_leader = True
        binding = asyncio.create_task(extended.bind("second"))
        await asyncio.sleep(0.01)
        assert not binding.done()
        await bound_by_the_predecessor(extended)
        extended.show("first")
        extended.follows.set()
        assert "GPU 0 has 0 of 4096 idle" in await binding
