"""A container is started again under a new id, while processes of its last run hold a GPU still."""

from __future__ import annotations

import pytest

from tests.e2e.scene import Scene
from tests.e2e.world import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def test_both_runs_are_the_pods_until_the_last_one_has_gone(scene: Scene, standing: World) -> None:
    pod = scene.pod("team-a", "restarts", containers=("main", "other"))
    scene.put(0, pod.process(3))
    scene.put(1, pod.process(0, container="other"))
    truths = [scene.truth()]
    standing.wait_for_truth(pod.ref)
    first = pod.containers["main"]

    with standing.watch(pod.ref) as watch:
        second = scene.run_container(pod, "main")
        scene.put(0, pod.process(3))  # the kubelet has not told the API server of it yet
        truths.append(scene.truth())
        answer = standing.wait_for_truth(pod.ref)
        assert [len(others.processes) for others in answer.unattributed.values()] == [1]

        scene.report(pod)
        truths.append(scene.truth())
        answer = standing.wait_for_truth(pod.ref)
        rows = answer.GpuPods[standing.driver.scenario.gpus[0].uuid].pidPods
        assert {row.container_id for row in rows} == {first.id, second.id}

        scene.end_container(first)
        truths.append(scene.truth())
        scene.take_off_gpus(*first.pids)
        truths.append(scene.truth())
        standing.wait_for_truth(pod.ref)
    watch.assert_honest(*truths)


def test_a_killed_process_of_a_container_that_runs_on(scene: Scene, standing: World) -> None:
    pod = scene.pod("team-a", "loses-one")
    for number in (0, 1):
        scene.put(0, pod.process(number))
    standing.wait_for_truth(pod.ref)
    standing.containerd.ctr(*("task", "kill", "--signal", "9", pod.containers["main"].id))
    scene.mark_exited(*pod.containers["main"].pids)
    standing.wait_for_truth(pod.ref)
