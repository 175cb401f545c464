"""The API server is restarted, and away for a while: answers stay right, and tell their age."""

from __future__ import annotations

import grpc
import pytest

from gpupods.client.errors import PodNotFound, Unavailable
from tests.e2e.comparing import is_same, missing_parts, without_missing
from tests.e2e.scene import Scene
from tests.e2e.world import World
from tests.realparts.grpcurl import Grpcurl

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def test_a_restart_is_not_noticed_and_later_changes_are(scene: Scene, standing: World) -> None:
    pod = scene.pod("team-a", "steady")
    goes = scene.pod("team-a", "goes-after-the-restart", processes=())
    scene.put(0, pod.process(1))
    standing.wait_for_truth(pod.ref)
    truths = [scene.truth()]
    with standing.watch(pod.ref) as watch:
        standing.apiserver.restart()
        standing.wait_for_truth(pod.ref)
        new = scene.pod("team-b", "made-after-the-restart")
        scene.put(1, new.process())
        scene.delete_pod(goes)
        standing.wait_for_truth(new.uid)
        standing.wait_for_error(goes.ref, PodNotFound)
        truths += [scene.truth_before(new), scene.truth()]
    watch.assert_honest(*truths)
    assert watch.errors == []


def test_while_it_is_away_the_answers_are_right_and_in_time_say_so(
    world: World, grpcurl: Grpcurl
) -> None:
    world.start()
    pod = world.scene.pod("team-a", "asked-all-the-time")
    world.scene.put(0, pod.process(1))
    world.wait_for_truth(pod.ref)
    truth = world.scene.truth()
    followed = world.controller
    with world.watch(pod.ref) as watch:
        world.apiserver.stop()
        try:
            # One that starts now cannot know anything, and says that.
            late = world.start_controller(ready="controller listens")
            error = world.wait_for_error(pod.ref, Unavailable)
            assert "not yet learnt" in error.message
            health = grpcurl.call(late.grpc, "grpc.health.v1.Health/Check", {})
            assert (health.code, health.body) == (grpc.StatusCode.OK, {"status": "NOT_SERVING"})
            ready = world.by_curl.get("/readyz")
            assert ready.status == 503
            assert world.by_curl.get("/healthz").status == 200
            # The other one goes on, and after a while tells how old its knowledge is.
            world.controller = followed
            answer = world.wait_for(
                pod.ref, lambda got: bool(got.missing), what="that the cluster is not followed"
            )
            assert is_same(without_missing(answer), truth)
            ((kind, _, reason),) = missing_parts(answer)
            assert kind == "POD"
            assert "API server" in reason
        finally:
            world.apiserver.start()
        new = world.scene.pod("team-a", "made-after-the-return", processes=())
        world.wait_for_truth(new.ref)
        world.controller = late
        world.wait_for_truth(new.ref)
    watch.assert_honest(truth)
    assert watch.errors == []
