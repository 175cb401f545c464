"""The GPU recovers, or an operator restores it, before anybody is evicted: all pods stay."""

from __future__ import annotations

from datetime import UTC, datetime

from gpupods.node_annotations import OVERRIDES, Override, OverrideKind, format_overrides
from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.changes import recover
from tests.failures.evicting import SERVING, Evicting, evicting
from tests.simulator.running import patiently


async def test_a_gpu_that_recovers_is_not_emptied() -> None:
    async with evicting() as at:
        pod = at.pod(SERVING)
        assert pod is not None
        await at.make_unfit(1)
        await at.evictor.turn()
        recover(at.run.truth, at.node, 1)
        uuid = at.node.gpus[1].uuid
        async for _ in patiently():
            info = (await at.run.ask(str(pod.ref))).GpuInfos[uuid]
            if info.health_detail.recovering:
                break
        assert info.health == pb.GPU_HEALTH_UNFIT
        await at.long_after()
        assert at.pod(SERVING) is pod


async def test_one_that_an_operator_excluded_is_not_emptied_unless_that_is_wanted() -> None:
    for wanted in (False, True):
        async with evicting(excluded=wanted) as at:
            pod = at.pod(SERVING)
            assert pod is not None
            await exclude(at)
            await at.long_after()
            assert (at.pod(SERVING) is None) is wanted


async def exclude(at: Evicting) -> None:
    """As `gpupods gpu exclude` does, and wait until the controller has heard of it."""
    word = Override(OverrideKind.EXCLUDE, "ada", "a test", datetime.now(UTC))
    await at.api.ask(
        "PATCH",
        f"/api/v1/nodes/{at.node.name}",
        {"metadata": {"annotations": {OVERRIDES: format_overrides({1: word})}}},
        limit_s=20,
        media_type="application/merge-patch+json",
    )
    async for _ in patiently():
        known = at.run.cluster.controller.cache.node(at.node.name)
        if known is not None and known.gpu_health:
            return
    raise AssertionError("the agent has not taken it")
