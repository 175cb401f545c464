from __future__ import annotations

from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.changes import set_driver_fault
from simulator.kinds import DriverFault
from tests.simulator.running import missing, running


async def test_the_answer_comes_in_time_says_so_and_other_nodes_are_not_concerned() -> None:
    async with running() as run:
        pod, elsewhere = run.pod("llama-finetune-0"), run.pod("llama-finetune-1")
        assert pod.node is not None
        await run.until_right(pod)
        set_driver_fault(pod.node, DriverFault.HANGS)
        answer = await run.ask(str(pod.ref), timeout_s=1.0)
        assert missing(answer, pb.MISSING_KIND_DRIVER)
        assert len(answer.GpuInfos) == 4
        assert not any(gpu.memory_known for gpu in answer.GpuInfos.values())
        assert await run.wrong(elsewhere) == []
        set_driver_fault(pod.node, DriverFault.NONE)
        await run.until_right(pod)
