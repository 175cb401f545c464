from __future__ import annotations

from simulator.changes import restart_container, start_pod
from simulator.model import SimPod
from simulator.plans import ContainerPlan, PodPlan, ProcessPlan, UsePlan
from tests.simulator.running import Running, running


async def test_what_is_known_is_still_answered_and_the_rest_is_learnt_when_it_is_back() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        await run.until_right(pod)
        await run.cluster.apiserver.go_away()
        assert await run.wrong(pod) == []
        new = start_new_pod(run)
        await run.cluster.apiserver.come_back()
        await run.until_right(new)


async def test_a_history_that_was_compacted_meanwhile_is_made_up_for_by_a_new_list() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        await run.until_right(pod)
        await run.cluster.apiserver.go_away()
        restart_container(run.truth, pod, "trainer")
        new = start_new_pod(run)
        run.cluster.apiserver.store.compact()
        await run.cluster.apiserver.come_back()
        await run.until_right(pod)
        await run.until_right(new)


def start_new_pod(run: Running) -> SimPod:
    process = ProcessPlan("python", (UsePlan(0, 512),))
    plan = PodPlan("default", "late", (ContainerPlan("main", "pytorch", (process,)),))
    return start_pod(run.truth, run.node("gpu-h100"), plan)
