"""Somebody writes nonsense about GPUs to one Node: it is passed over, and costs no other node."""

from __future__ import annotations

import json

import pytest

from gpupods import AsyncClient
from gpupods.identity import NodeName
from gpupods.node_annotations import HEALTH
from tests.failures.evicting import SERVING, Evicting, evicting
from tests.simulator.running import patiently

ELSEWHERE = NodeName("cpu-1")


def entry(**more: object) -> dict[str, object]:
    known = {"index": 1, "uuid": "", "pciAddress": "", "standing": "unfit", "reason": "nonsense"}
    return known | more


@pytest.mark.parametrize(
    "health",
    [
        entry(index=-1),
        entry(index=2**70),
        entry(xid=2**40),
        entry(since="2026-01-31T12:00:00"),
        entry(since="0001-01-01T00:00:00+14:00"),
    ],
)
async def test_the_list_and_eviction_go_on(health: dict[str, object]) -> None:
    async with evicting() as at:
        await at.run.cluster.agents.stop_one(ELSEWHERE)  # it would take the nonsense away
        await write(at, json.dumps([health]))
        async with AsyncClient(str(at.run.cluster.grpc)) as client:
            listed = await client.list_gpus()
        assert {gpu.node for gpu in listed.gpus} >= {at.node.name}
        (missing,) = [each for each in listed.missing if each.node == ELSEWHERE]
        assert "not what a node agent writes" in missing.reason

        await at.make_unfit(1)
        await at.long_after()
        assert at.pod(SERVING) is None


async def write(at: Evicting, value: str) -> None:
    """Put the annotation there, and wait until the controller has heard of it."""
    await at.api.ask(
        "PATCH",
        f"/api/v1/nodes/{ELSEWHERE}",
        {"metadata": {"annotations": {HEALTH: value}}},
        limit_s=20,
        media_type="application/merge-patch+json",
    )
    async for _ in patiently():
        known = at.run.cluster.controller.cache.node(ELSEWHERE)
        if known is not None and known.gpu_health == value:
            return
    raise AssertionError("the controller has not heard of it")
