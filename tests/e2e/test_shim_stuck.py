"""A container's shim answers nothing: containerd then holds questions about it for ever."""

from __future__ import annotations

import pytest

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.comparing import missing_parts
from tests.e2e.scene import Scene
from tests.e2e.world import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

UNDETERMINED = pb.UNATTRIBUTED_REASON_UNDETERMINED


def test_cgroups_do_not_need_it(scene: Scene, standing: World) -> None:
    stuck, well = (scene.pod("team-a", name) for name in ("stuck", "well"))
    with standing.containerd.stuck_shim(stuck.containers["main"]):
        for pod in (stuck, well):
            scene.put(0, pod.process(3))
        standing.wait_for_truth(well.ref)


def test_with_identify_runtime_its_processes_are_said_to_be_missing(world: World) -> None:
    world.start("--identify", "runtime")
    stuck, well = (world.scene.pod("team-a", name) for name in ("stuck", "well"))
    container = stuck.containers["main"]
    with world.watch(well.ref) as watch:
        before = world.scene.truth()
        with world.containerd.stuck_shim(container):
            world.scene.put(0, well.process(3))
            only_well = world.scene.truth()
            world.scene.put(0, stuck.process(3))
            answer = world.wait_for(
                well.ref,
                lambda got: bool(got.GpuPods) and bool(got.unattributed),
                what="the rows of the container that is well, and the others as undetermined",
            )
            assert [row.pod for pods in answer.GpuPods.values() for row in pods.pidPods] == ["well"]
            ((other,),) = (others.processes for others in answer.unattributed.values())
            assert (other.process.pid, other.reason) == (container.pids[3], UNDETERMINED)
            assert [part[:2] for part in missing_parts(answer)] == [("CONTAINER", container.id)]
        world.wait_for_truth(well.ref)
    watch.assert_honest(before, only_well, world.scene.truth())
    assert watch.errors == []


def test_with_identify_runtime_what_was_found_before_stays(world: World) -> None:
    world.start("--identify", "runtime")
    stuck = world.scene.pod("team-a", "stuck-later")
    for number in range(4):
        world.scene.put(number % 3, stuck.process(number))
    world.wait_for_truth(stuck.ref)
    with world.watch(stuck.ref) as watch, world.containerd.stuck_shim(stuck.containers["main"]):
        world.wait_for_truth(stuck.ref)
    watch.assert_honest(world.scene.truth())
    assert all(not answer.missing for answer in watch.answers)
