from __future__ import annotations

from simulator.changes import restart_container
from tests.simulator.running import rows, running


async def test_the_new_containers_processes_are_the_pods() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        before = {row.pid for _, row in rows(await run.ask(pod.uid)) if row.pod == pod.name}
        new = restart_container(run.truth, pod, "trainer")
        await run.until_right(pod)
        mine = [row for _, row in rows(await run.ask(pod.uid)) if row.pod == pod.name]
        assert {row.container_id for row in mine} == {new.id}
        assert before.isdisjoint(row.pid for row in mine)
        assert len(mine) == 4


async def test_what_the_old_container_still_holds_is_the_pods_too() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        old = pod.containers[-1].id
        new = restart_container(run.truth, pod, "trainer", old_lingers=True)
        await run.until_right(pod)
        mine = [row for _, row in rows(await run.ask(pod.uid)) if row.pod == pod.name]
        assert sorted(row.container_id for row in mine) == sorted([old, new.id] * 4)
