from __future__ import annotations

from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.changes import set_gpu_lost
from tests.simulator.running import running


async def test_it_stays_listed_under_its_index_and_hides_no_other() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        node = pod.node
        assert node is not None
        await run.until_right(pod)
        set_gpu_lost(node, 1)
        answer = await run.ask(str(pod.ref))
        lost = node.gpus[1]
        assert [part.subject for part in answer.missing] == [lost.uuid]
        assert answer.missing[0].kind == pb.MISSING_KIND_GPU
        assert {gpu.index for gpu in answer.GpuInfos.values()} == {0, 1, 2, 3}
        assert not answer.GpuInfos[lost.uuid].memory_known
        assert lost.uuid not in answer.GpuPods
        assert len(answer.GpuPods) == 3
        set_gpu_lost(node, 1, lost=False)
        await run.until_right(pod)
