"""The scheduler's annotation comes a moment after the pod: the pod is waited for, and served."""

from __future__ import annotations

import asyncio

import pytest

from simulator.kubelet_plugins import PodRefusedError
from tests.pluginbed import bed, sharing


async def test_it_is_waited_for() -> None:
    async with bed(look_for_s=20.0) as made:
        late, chosen = sharing("one", 5, None, None), sharing("one", 5, "1")
        made.bind(late)
        running = asyncio.create_task(made.run(late))
        await asyncio.sleep(0.1)
        made.bind(chosen)
        given = await running
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(1)


async def test_one_that_never_comes_is_said_to_be_missing() -> None:
    async with bed() as made:
        pod = sharing("one", 5, None, None)
        made.bind(pod)
        with pytest.raises(PodRefusedError, match="no GPU is chosen for team/one: it has no"):
            await made.run(pod)
