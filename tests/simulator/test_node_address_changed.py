from __future__ import annotations

from simulator.changes import change_addresses
from tests.simulator.running import running


async def test_the_agent_is_asked_at_the_new_address() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        assert pod.node is not None
        await run.until_right(pod)
        await run.cluster.move_node(pod.node, "127.65.1.1")
        await run.until_right(pod)


async def test_of_two_addresses_the_one_that_answers_is_used() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        assert pod.node is not None
        right = pod.node.addresses[0]
        change_addresses(run.truth, pod.node, ["127.65.1.2", right])
        await run.until_right(pod)
