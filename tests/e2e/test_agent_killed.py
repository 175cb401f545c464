"""The node agent is killed without a chance to say so, and started again."""

from __future__ import annotations

import pytest

from gpupods.client.errors import Unavailable
from tests.e2e.programs import wait_until_gone
from tests.e2e.scene import Scene
from tests.e2e.world import ADDRESS, World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def test_the_controller_says_so_and_finds_the_next_one(world: World) -> None:
    world.start()
    pod = world.scene.pod("team-a", "survivor")
    world.scene.put(0, pod.process(2))
    world.wait_for_truth(pod.ref)
    port, children = world.agent.port, world.agent.children()
    assert children, "the driver is asked in a child process"

    with world.watch(pod.ref) as watch:
        world.agent.kill()
        wait_until_gone(children)
        error = world.wait_for_error(pod.ref, Unavailable, timeout_s=5)
        assert f"{ADDRESS}:{port}" in error.message
        assert world.node in error.message
        world.start_agent(listen=f"{ADDRESS}:{port}")
        world.wait_for_truth(pod.ref)
    watch.assert_honest(world.scene.truth())


def test_if_the_drivers_child_is_killed_nobody_notices(scene: Scene, standing: World) -> None:
    pod = scene.pod("team-a", "unaware")
    scene.put(1, pod.process(1))
    standing.wait_for_truth(pod.ref)
    with standing.watch(pod.ref) as watch:
        for _ in range(3):
            standing.agent.kill_children()
            standing.wait_for_truth(pod.ref)
    watch.assert_honest(scene.truth())
    assert watch.errors == []
