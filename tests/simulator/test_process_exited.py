from __future__ import annotations

from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.changes import kill_process, reuse_pid
from tests.simulator.running import rows, running


async def test_what_only_the_driver_still_lists_is_told_apart() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        assert pod.node is not None
        dead = pod.containers[-1].processes[-1]
        kill_process(pod.node, dead.pid, driver_forgets=False)
        assert await run.wrong(pod) == []
        answer = await run.ask(str(pod.ref))
        assert dead.pid not in {row.pid for _, row in rows(answer)}
        gpu = dead.uses[0].gpu
        listed = answer.unattributed[gpu].processes
        exited = [each for each in listed if each.process.pid == dead.pid]
        assert [each.reason for each in exited] == [pb.UNATTRIBUTED_REASON_PROCESS_EXITED]
        assert exited[0].process.memory_known


async def test_a_pid_reused_between_sample_and_look_up_is_not_taken_for_the_process() -> None:
    async with running() as run:
        pod = run.pod("llama-finetune-0")
        node = pod.node
        assert node is not None
        old = pod.containers[-1].processes[-1]
        gpus = run.cluster.agents.by_node[node.name].gpus

        def reuse() -> None:
            gpus.after_sample = None
            # As late as a process can be that starts while the sample is on its way.
            started = reuse_pid(run.truth, node, old.pid, "sshd", "/system.slice/ssh.service")
            started.started = type(started.started)(started.started + 1.0)

        gpus.after_sample = reuse
        answer = await run.ask(str(pod.ref))
        found = [
            each
            for listed in answer.unattributed.values()
            for each in listed.processes
            if each.process.pid == old.pid
        ]
        assert [each.reason for each in found] == [pb.UNATTRIBUTED_REASON_PID_REUSED]
        assert "sshd" in found[0].detail
