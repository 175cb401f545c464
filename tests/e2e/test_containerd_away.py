"""containerd is stopped and started; the containers run on meanwhile, as they do on a node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.comparing import is_same, missing_parts, without_missing
from tests.e2e.world import ADDRESS, World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@contextmanager
def containerd_away(world: World) -> Iterator[None]:
    world.containerd.stop()
    try:
        yield
    finally:
        world.containerd.start()


def test_what_was_known_stays_right(world: World) -> None:
    world.start()
    pod = world.scene.pod("team-a", "outlives-containerd")
    for number in range(4):
        world.scene.put(number % 3, pod.process(number))
    world.scene.put(0, world.scene.host_process())
    world.wait_for_truth(pod.ref)
    with world.watch(pod.ref) as watch:
        with containerd_away(world):
            world.wait_for_truth(pod.ref)
        new = world.scene.pod("team-b", "made-after-the-return")
        watched = world.scene.truth()
        world.scene.put(1, new.process())
        world.wait_for_truth(new.ref)
    watch.assert_honest(watched, world.scene.truth())
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
                lambda got: bool(got.unattributed) and bool(got.missing),
                what="a process that cannot be identified",
            )
            assert {kind for kind, _, _ in missing_parts(answer)} == {"RUNTIME"}, missing_parts(answer)
        world.wait_for_truth(late.ref)
    watch.assert_honest(before, world.scene.truth())
    assert watch.errors == []
