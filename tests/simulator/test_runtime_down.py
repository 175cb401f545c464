from __future__ import annotations

import pytest

from gpupods.v1alpha1 import gpupods_pb2 as pb
from nodeagent.containers.identify import IdentifyMode
from simulator.changes import set_runtime_fault
from simulator.kinds import RuntimeFault
from tests.simulator.running import missing, rows, running


@pytest.mark.parametrize("fault", [RuntimeFault.DOWN, RuntimeFault.HANGS])
async def test_cgroups_still_tell_the_pods_of_processes(fault: RuntimeFault) -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        assert pod.node is not None
        set_runtime_fault(pod.node, fault)
        answer = await run.ask(str(pod.ref), timeout_s=1.0)
        mine = [row for _, row in rows(answer) if row.pod == pod.name]
        assert len(mine) == 4
        assert {row.owner.name for row in mine} == {"llama-finetune"}
        assert missing(answer, pb.MISSING_KIND_RUNTIME)
        set_runtime_fault(pod.node, RuntimeFault.NONE)
        await run.until_right(pod)


async def test_by_the_runtimes_word_alone_nothing_is_dropped() -> None:
    async with running(identify=IdentifyMode.RUNTIME) as run:
        pod = run.pod("llama-finetune-0")
        assert pod.node is not None
        held = sum(len(process.uses) for process in pod.node.processes.values())
        set_runtime_fault(pod.node, RuntimeFault.DOWN)
        answer = await run.ask(str(pod.ref))
        listed = [p for each in answer.unattributed.values() for p in each.processes]
        assert {each.reason for each in listed} == {pb.UNATTRIBUTED_REASON_UNDETERMINED}
        assert len(listed) == held
        assert missing(answer, pb.MISSING_KIND_RUNTIME)
