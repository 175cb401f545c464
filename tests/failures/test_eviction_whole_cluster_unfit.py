"""A wrong policy calls GPUs of the whole cluster unfit: the cluster is not emptied."""

from __future__ import annotations

from tests.failures.evicting import evicting

SMALL_LIMIT = 2


async def test_where_most_nodes_would_be_emptied_nobody_is_evicted() -> None:
    async with evicting() as at:
        nodes = [node for node in at.run.truth.nodes.values() if node.gpus]
        assert len(nodes) == 4
        for node in nodes:
            await at.make_unfit(0, 1, 2, 3, node=node)
        before = len(at.run.truth.pods)
        await at.long_after()
        await at.later(3600.0)
        assert len(at.run.truth.pods) == before
        assert not any("/eviction" in each for each in at.run.cluster.apiserver.requests)


async def test_in_a_minute_no_more_are_evicted_than_are_allowed() -> None:
    async with evicting(per_minute=SMALL_LIMIT) as at:
        await at.make_unfit(0, 1, 2, 3)
        before = len(at.run.truth.pods)
        await at.long_after()
        assert len(at.run.truth.pods) == before - SMALL_LIMIT
        await at.later(30.0)
        assert len(at.run.truth.pods) == before - SMALL_LIMIT
        await at.later(30.0)
        assert len(at.run.truth.pods) == before - 2 * SMALL_LIMIT
