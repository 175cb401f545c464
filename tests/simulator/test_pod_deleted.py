from __future__ import annotations

from gpupods import PodNotFound
from simulator.changes import delete_pod
from tests.simulator.running import rows, running


async def test_a_deleted_pod_is_not_found_and_leaves_its_neighbours() -> None:
    async with running() as run:
        gone, neighbour = run.pod("llama-finetune-0"), run.pod("chat-")
        assert gone.node is neighbour.node
        delete_pod(run.truth, gone)
        message = await run.until_refused(str(gone.ref), PodNotFound)
        assert gone.name in message
        await run.until_right(neighbour)
        answer = await run.ask(str(neighbour.ref))
        assert gone.name not in {row.pod for _, row in rows(answer)}
        assert len(answer.GpuInfos) == 4
