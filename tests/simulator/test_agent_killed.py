from __future__ import annotations

import pytest

from gpupods import Unavailable
from simulator.questions import NoUsableAnswerError, by_http
from tests.simulator.running import running


async def test_its_nodes_pods_cannot_be_answered_for_until_it_is_back() -> None:
    async with running() as run:
        pod, elsewhere = run.pod("llama-finetune-0"), run.pod("llama-finetune-1")
        assert pod.node is not None
        await run.until_right(pod)
        await run.cluster.agents.stop_one(pod.node.name)
        message = await run.until_refused(str(pod.ref), Unavailable)
        assert "gpu-a100-1" in message
        with pytest.raises(NoUsableAnswerError, match="503"):
            await by_http(run.cluster, pod.ref)
        assert await run.wrong(elsewhere) == []
        await run.cluster.agents.start_one(pod.node.name)
        await run.until_right(pod)
