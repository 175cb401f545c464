"""containerd is stopped and started; the containers run on meanwhile, as they do on a node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.comparing import is_same, missing_parts, without_missing
from tests.e2e.scene import Scene
from tests.e2e.world import ADDRESS, World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@contextmanager
def containerd_away(world: World) -> Iterator[None]:
    world.containerd.stop()
    try:
        yield
    finally:
        world.containerd.start()


def test_what_was_known_stays_right(scene: Scene, standing: World) -> None:
    pod = scene.pod("team-a", "outlives-containerd")
    for number in range(4):
        scene.put(number % 3, pod.process(number))
    scene.put(0, scene.host_process())
    standing.wait_for_truth(pod.ref)
    with standing.watch(pod.ref) as watch:
        with containerd_away(standing):
            standing.wait_for_truth(pod.ref)
        before = scene.truth()
        new = scene.pod("team-b", "made-after-the-return")
        scene.put(1, new.process())
        standing.wait_for_truth(new.ref)
    watch.assert_honest(before, scene.truth_before(new), scene.truth())
    assert watch.errors == []


def test_an_agent_that_starts_meanwhile_believes_cgroups_and_says_so(world: World) -> None:
    world.start()
    pod = world.scene.pod("team-a", "known-by-its-cgroup")
    world.scene.put(0, pod.process(3))
    world.scene.put(2, world.scene.host_process())
    world.wait_for_truth(pod.ref)
    port = world.agent.port
    with containerd_away(world):
        world.agent.stop()
        world.start_agent(listen=f"{ADDRESS}:{port}")
        truth = world.scene.truth()
        answer = world.wait_for(
            pod.ref,
            lambda got: is_same(without_missing(got), truth) and bool(got.missing),
            what="the truth by cgroups, and that the runtime is away",
        )
        ((kind, subject, reason),) = missing_parts(answer)
        assert (kind, subject) == ("RUNTIME", "")
        assert str(world.containerd.socket) in reason
        assert "is containerd running?" in reason or "no such socket" in reason
    world.wait_for_truth(pod.ref)


def test_with_identify_runtime_what_is_not_known_is_said(world: World) -> None:
    world.start("--identify", "runtime")
    old = world.scene.pod("team-a", "found-before")
    world.scene.put(0, old.process(3))
    world.wait_for_truth(old.ref)
    before = world.scene.truth()
    late = world.scene.pod("team-a", "never-found-before")
    with world.watch(old.ref) as watch:
        with containerd_away(world):
            world.scene.put(1, late.process(1))
            answer = world.wait_for(
                old.ref,
                lambda got: bool(got.unattributed) and is_runtime_missing(got),
                what="a process that cannot be identified, as the runtime is away",
            )
            assert [row.pod for pods in answer.GpuPods.values() for row in pods.pidPods] == [
                old.name
            ]
        world.wait_for_truth(late.ref)
    watch.assert_honest(before, world.scene.truth())
    assert watch.errors == []


def is_runtime_missing(answer: pb.GetGpuPodsResponse) -> bool:
    return any(kind == "RUNTIME" for kind, _, _ in missing_parts(answer))
