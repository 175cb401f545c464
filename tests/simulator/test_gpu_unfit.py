"""A GPU turns unfit in a simulated cluster: the answer says which, why and what to do."""

from __future__ import annotations

from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.changes import recover, report_xid
from tests.simulator.running import patiently, running


async def test_the_answer_tells_it_of_that_gpu_alone() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        node = pod.node
        assert node is not None
        await run.until_right(pod)
        report_xid(run.truth, node, 1, 79)
        async for _ in patiently():
            infos = (await run.ask(str(pod.ref))).GpuInfos
            bad = [info for info in infos.values() if info.health == pb.GPU_HEALTH_UNFIT]
            if bad:
                break
        (info,) = bad
        assert (info.index, info.uuid) == (1, node.gpus[1].uuid)
        detail = info.health_detail
        assert (detail.xid, detail.source, detail.recovering) == (79, "nvml", False)
        assert detail.reason.startswith("XID 79: the GPU has fallen off the bus")
        assert "restart the node" in detail.action
        assert detail.HasField("since")
        fit = [info for info in infos.values() if info.health == pb.GPU_HEALTH_FIT]
        assert len(fit) == 3
        assert not any(info.HasField("health_detail") for info in fit)
        recover(run.truth, node, 1)
        async for _ in patiently():
            infos = (await run.ask(str(pod.ref))).GpuInfos
            if infos[info.uuid].health_detail.recovering:
                break
        assert infos[info.uuid].health == pb.GPU_HEALTH_UNFIT
        assert infos[info.uuid].health_detail.recovering
