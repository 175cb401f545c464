"""MIG: rows with GPU instance, compute instance and MIG UUID, on a GPU whose load is unknown."""

from __future__ import annotations

import pytest

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.scene import Scene
from tests.e2e.world import World
from tests.fakedriver.scenario import GIB, MIB, MigInstance, ProcessKind

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SMALL = MigInstance(uuid="MIG-8c4c5a27-e508-5556-b2ea-7e549465741e", index=0, gpu_instance=7)
LARGE = MigInstance(
    uuid="MIG-1d89abd8-d10a-5361-bd06-77a807048472", index=3, gpu_instance=2, compute_instance=1
)


@pytest.mark.parametrize("aggregate", [True, False], ids=["gpu lists all", "gpu lists none"])
def test_processes_on_mig_devices(aggregate: bool, scene: Scene, standing: World) -> None:  # noqa: FBT001
    gpu = standing.driver.scenario.gpus[2].uuid
    standing.driver.change(
        lambda now: now.with_gpu(
            gpu, mig=True, mig_aggregate=aggregate, mig_instances=(SMALL, LARGE), utilization=None
        )
    )
    pod = scene.pod("team-a", "mig-user")
    neighbour = scene.pod("team-b", "mig-user")
    scene.put(2, pod.process(0), mig=0, memory=3 * GIB)
    scene.put(2, pod.process(0), mig=1, memory=4 * GIB)
    scene.put(2, neighbour.process(2), mig=1, memory=None, kinds=ProcessKind.MPS)
    scene.put(2, scene.host_process(), mig=0, memory=64 * MIB)
    answer = standing.wait_for_truth(pod.ref)
    info = answer.GpuInfos[gpu]
    assert (info.mig_mode, info.utilization_known) == (pb.MIG_MODE_ENABLED, False)
    assert [
        (row.pid, row.mig.uuid) for row in answer.GpuPods[gpu].pidPods if row.pod_uid == pod.uid
    ] == [
        (pod.containers["main"].pids[0], LARGE.uuid),
        (pod.containers["main"].pids[0], SMALL.uuid),
    ]


def test_mig_is_switched_on_and_off_while_the_agent_runs(scene: Scene, standing: World) -> None:
    gpu = standing.driver.scenario.gpus[2].uuid
    pod = scene.pod("team-a", "before-and-after")
    scene.put(0, pod.process())
    standing.wait_for_truth(pod.ref)
    standing.driver.change(lambda now: now.with_gpu(gpu, mig=True, mig_instances=(SMALL,)))
    scene.put(2, pod.process(1), mig=0)
    standing.wait_for_truth(pod.ref)
    scene.take_off_gpus(pod.containers["main"].pids[1])
    standing.driver.change(lambda now: now.with_gpu(gpu, mig=False, mig_instances=()))
    standing.wait_for_truth(pod.ref)
