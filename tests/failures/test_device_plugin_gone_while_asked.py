"""The plugin is given up over a call of the kubelet: the pod is refused, no task ends."""

from __future__ import annotations

import asyncio

import pytest

from gpupods.accounting.names import GPU_MEMORY
from simulator.kubelet_plugins import PodRefusedError
from tests.pluginbed import bed, sharing, until


async def test_the_pod_is_refused() -> None:
    async with bed(look_for_s=20.0) as made:
        pod = sharing("one", 5, "1")
        asking = asyncio.create_task(made.run(pod))  # the API server does not know of it yet
        await until(made.plugin.allocator._turn.locked)
        await made.kubelet.drop(GPU_MEMORY)
        with pytest.raises(PodRefusedError, match=r"CANCEL"):
            await asking
        await made.until_offered()
        made.bind(pod)
        given = await made.run(pod)
        assert given["main"]["NVIDIA_VISIBLE_DEVICES"] == made.uuid(1)
