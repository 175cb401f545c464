"""Every kind of container that a pod can have, and every shape of cgroup it can be in."""

from __future__ import annotations

import pytest

from tests.e2e.scene import Scene
from tests.e2e.world import World
from tests.realparts import cgroups, ocispec

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SHAPES = {
    "burstable": cgroups.BURSTABLE,
    "best effort": cgroups.BEST_EFFORT,
    "guaranteed": cgroups.GUARANTEED,
    "systemd": cgroups.SYSTEMD_BURSTABLE,
    "systemd guaranteed": cgroups.SYSTEMD_GUARANTEED,
    "drivers disagree": cgroups.DRIVERS_DISAGREE,
}
DEEP: ocispec.ProcessTree = ((((((),),),),), ())


def test_init_sidecar_and_ephemeral_containers(scene: Scene, standing: World) -> None:
    pod = scene.pod("team-a", "all-kinds", init=("warm-cache",), sidecars=("proxy",))
    scene.add_ephemeral(pod, "debugger")
    for number, container in enumerate(("warm-cache", "proxy", "main", "debugger")):
        scene.put(number % 2, pod.process(1, container=container))
    answer = standing.wait_for_truth(pod.uid)
    named = {row.container_name for pods in answer.GpuPods.values() for row in pods.pidPods}
    assert named == {"warm-cache", "proxy", "main", "debugger"}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_a_container_in_a_cgroup_of_each_shape(shape: str, scene: Scene, standing: World) -> None:
    pod = scene.pod("team-a", "shaped", cgroup=shape)
    scene.put(0, pod.process(0))
    scene.put(0, pod.process(3))
    standing.wait_for_truth(pod.uid)


def test_nested_processes_of_one_container(scene: Scene, standing: World) -> None:
    pod = scene.pod("team-a", "nested", processes=DEEP)
    pids = pod.containers["main"].pids
    assert len(set(pids)) == 7
    for number in range(len(pids)):
        scene.put(number % 3, pod.process(number))
    standing.wait_for_truth(pod.uid)


@pytest.mark.parametrize(
    ("owner", "hash_label", "seen_owner"),
    [
        (("ReplicaSet", "web-6b7c9d"), "6b7c9d", ("Deployment", "web")),
        (("ReplicaSet", "standalone-set"), "6b7c9d", ("ReplicaSet", "standalone-set")),
        (("DaemonSet", "monitor"), "6b7c9d", ("DaemonSet", "monitor")),
        (("Job", "train-2026"), "", ("Job", "train-2026")),
        (("PyTorchJob", "llm"), "", ("PyTorchJob", "llm")),
    ],
)
def test_the_owner_is_the_workload_that_people_know(
    owner: tuple[str, str],
    hash_label: str,
    seen_owner: tuple[str, str],
    scene: Scene,
    standing: World,
) -> None:
    labels = {"pod-template-hash": hash_label} if hash_label else {}
    pod = scene.pod("team-a", "owned", owner=owner, seen_owner=seen_owner, labels=labels)
    scene.put(0, pod.process())
    standing.wait_for_truth(pod.uid)
