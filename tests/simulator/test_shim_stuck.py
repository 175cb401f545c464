from __future__ import annotations

from gpupods.v1alpha1 import gpupods_pb2 as pb
from nodeagent.containers.identify import IdentifyMode
from simulator.changes import stick_shim
from tests.simulator.running import missing, rows, running


async def test_by_cgroup_nobody_notices() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        stick_shim(pod.containers[-1])
        assert await run.wrong(pod) == []


async def test_by_the_runtime_only_its_own_container_is_missing() -> None:
    async with running(identify=IdentifyMode.RUNTIME) as run:
        pod, neighbour = run.pod("llama-finetune-0"), run.pod("chat-")
        trainer = pod.containers[-1]
        stick_shim(trainer)
        answer = await run.ask(str(pod.ref), timeout_s=2.0)
        told = {row.pod for _, row in rows(answer)}
        assert neighbour.name in told
        assert pod.name not in told
        stuck = [part for part in answer.missing if part.kind == pb.MISSING_KIND_CONTAINER]
        assert [part.subject for part in stuck] == [trainer.id]
        assert not missing(answer, pb.MISSING_KIND_RUNTIME)
        stick_shim(trainer, stuck=False)
        await run.until_right(pod)
