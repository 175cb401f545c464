"""A pod is deleted while its processes hold a GPU: first the cluster forgets it, then the node."""

from __future__ import annotations

import pytest

from gpupods.client.errors import PodNotFound
from tests.e2e.scene import Scene
from tests.e2e.world import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def test_each_step_of_a_deletion_is_answered_rightly(scene: Scene, standing: World) -> None:
    stays = scene.pod("team-a", "stays")
    goes = scene.pod("team-a", "goes")
    scene.put(0, stays.process())
    for number in (0, 3):
        scene.put(number % 2, goes.process(number))
    truths = [scene.truth()]
    standing.wait_for_truth(stays.ref)

    with standing.watch(stays.ref) as watch:
        scene.delete_pod(goes)  # its processes are of a container that no pod has
        truths.append(scene.truth())
        standing.wait_for_truth(stays.ref)

        scene.end_container(goes.containers["main"])  # the driver is the last to know
        truths.append(scene.truth())
        standing.wait_for_truth(stays.ref)

        scene.take_off_gpus(*goes.containers["main"].pids)
        truths.append(scene.truth())
        standing.wait_for_truth(stays.ref)
    watch.assert_honest(*truths)
    assert "goes" in standing.wait_for_error(goes.ref, PodNotFound).message
    assert goes.uid in standing.wait_for_error(goes.uid, PodNotFound).message


def test_a_pod_of_the_same_name_is_another_pod(scene: Scene, standing: World) -> None:
    first = scene.pod("team-a", "again-0", owner=("StatefulSet", "again"))
    scene.put(0, first.process())
    standing.wait_for_truth(first.ref)
    scene.delete_pod(first)
    second = scene.pod("team-a", "again-0", owner=("StatefulSet", "again"))
    scene.put(0, second.process())
    answer = standing.wait_for_truth("team-a/again-0")
    (row,) = answer.GpuPods[standing.driver.scenario.gpus[0].uuid].pidPods
    assert row.pod_uid == second.uid != first.uid
    standing.wait_for_error(first.uid, PodNotFound)
