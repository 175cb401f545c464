from __future__ import annotations

from gpupods.v1alpha1 import gpupods_pb2 as pb
from simulator.changes import delete_pod
from tests.simulator.running import reasons, running


async def test_its_processes_are_told_as_of_a_container_that_the_cluster_does_not_know() -> None:
    async with running() as run:
        gone, neighbour = run.pod("notebook-ana"), run.pod("chat-")
        assert gone.node is not None
        pid = next(p.pid for p in gone.containers[0].processes if p.uses)
        delete_pod(run.truth, gone, containers_stay=True)
        neighbour = next(p for p in run.placed() if p.node is gone.node)
        await run.until_right(neighbour)
        answer = await run.ask(str(neighbour.ref))
        held = [
            each
            for listed in answer.unattributed.values()
            for each in listed.processes
            if each.process.pid == pid
        ]
        assert [each.reason for each in held] == [pb.UNATTRIBUTED_REASON_UNKNOWN_CONTAINER]
        assert gone.name in held[0].detail
        assert "python3" in reasons(answer)
