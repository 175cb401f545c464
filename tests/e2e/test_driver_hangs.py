"""A call of the driver does not come back: the agent goes on answering, and says so."""

from __future__ import annotations

import signal

import pytest

from tests.e2e.comparing import missing_parts
from tests.e2e.programs import wait_until_gone
from tests.e2e.scene import Scene
from tests.e2e.world import World
from tests.fakedriver.faults import Fault, NvmlReturn

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

HANGING = "nvmlDeviceGetMemoryInfo_v2"


def test_the_answer_says_so_and_is_whole_when_it_is_back(world: World) -> None:
    world.start("--driver-limit", "0.5")
    pod = world.scene.pod("team-a", "behind-a-hanging-driver")
    world.scene.put(0, pod.process(3))
    world.wait_for_truth(pod.ref)
    truth = world.scene.truth()
    with world.watch(pod.ref) as watch:
        world.driver.change(lambda now: now.with_faults(Fault.hangs(HANGING)))
        answer = world.wait_for(
            pod.ref, lambda got: bool(got.missing), what="that the driver does not answer"
        )
        (part,) = missing_parts(answer)
        assert part[:2] == ("DRIVER", "")
        assert "has not answered" in part[2]
        assert set(answer.GpuInfos) == set(truth.GpuInfos)
        assert not answer.GpuPods
        assert not answer.HasField("sample_time")
        world.driver.change(lambda now: now.with_faults())
        world.wait_for_truth(pod.ref)
    watch.assert_honest(truth)
    assert watch.errors == []


def test_a_driver_that_is_unloaded_and_loaded_again(scene: Scene, standing: World) -> None:
    pod = scene.pod("team-a", "during-an-upgrade")
    scene.put(0, pod.process(3))
    standing.wait_for_truth(pod.ref)
    with standing.watch(pod.ref) as watch:
        gone = Fault.returns(NvmlReturn.DRIVER_NOT_LOADED)
        standing.driver.change(lambda now: now.with_faults(gone))
        answer = standing.wait_for(pod.ref, lambda got: bool(got.missing), what="no driver")
        assert {kind for kind, _, _ in missing_parts(answer)} == {"DRIVER"}
        standing.driver.change(lambda now: now.with_faults())
        standing.wait_for_truth(pod.ref)
    watch.assert_honest(scene.truth())
    assert watch.errors == []


def test_sigterm_ends_an_agent_whose_driver_hangs(world: World) -> None:
    world.start()
    pod = world.scene.pod("team-a", "asks-in-vain", processes=())
    world.wait_for_truth(pod.ref)
    world.driver.change(lambda now: now.with_faults(Fault.hangs(HANGING)))
    with world.watch(pod.ref):
        world.driver.wait_until_hanging(HANGING)
        children = world.agent.children()
        world.agent.send(signal.SIGTERM)
        assert world.agent.exit_code() == 0
    wait_until_gone(children)
