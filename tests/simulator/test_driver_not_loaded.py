from __future__ import annotations

from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.changes import set_driver_fault
from simulator.kinds import DriverFault
from tests.simulator.running import missing, running


async def test_the_answer_says_so_until_the_driver_is_back() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        assert pod.node is not None
        set_driver_fault(pod.node, DriverFault.NOT_LOADED)
        answer = await run.ask(str(pod.ref))
        assert len(answer.GpuPods) == 0
        assert "not loaded" in missing(answer, pb.MISSING_KIND_DRIVER)[0]
        set_driver_fault(pod.node, DriverFault.NONE)
        await run.until_right(pod)
