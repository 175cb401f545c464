"""Two controllers as programs on the real API server: the leader is killed, or stopped."""

from __future__ import annotations

import signal
import time

import pytest

from tests.e2e.programs import Controller
from tests.e2e.world import World
from tests.realparts.processes import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

NAMESPACE = "gpupods-system"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"


@pytest.fixture
def replicas(world: World) -> tuple[Controller, Controller]:
    """The first leads, the second knows the cluster and waits."""
    world.apiserver.api.create_namespace(NAMESPACE)
    lease = ("--leader-elect", "--lease-name", world.node)
    world.start_agent()
    leader = world.start_controller(*lease)
    standby = world.start_controller(*lease, ready="standby")
    return leader, standby


def ready(world: World, controller: Controller) -> bool:
    world.controller = controller
    return world.by_curl.get("/readyz").status == 200


def holder(world: World) -> str:
    lease = world.apiserver.api.get(f"{LEASES}/{world.node}")
    return str(lease["spec"].get("holderIdentity", ""))


def test_a_killed_leader_is_replaced(world: World, replicas: tuple[Controller, Controller]) -> None:
    leader, standby = replicas
    pod = world.scene.pod("team-a", "asked-all-the-time")
    world.scene.put(0, pod.process())
    world.controller = standby
    world.wait_for_truth(pod.ref)
    before = holder(world)
    with world.watch(pod.ref) as watch:
        leader.kill()
        killed = time.monotonic()
        wait_until(lambda: ready(world, standby), what="the standby to lead", deadline_s=60)
        print(f"took over {time.monotonic() - killed:.2f} s after the kill")
    assert holder(world) != before
    watch.assert_honest(world.scene.truth())
    assert watch.errors == [], "a standby answers all the time"


def test_a_stopped_leader_hands_over_before_it_has_ended(
    world: World, replicas: tuple[Controller, Controller]
) -> None:
    leader, standby = replicas
    leader.send(signal.SIGTERM)
    stopped = time.monotonic()
    wait_until(lambda: ready(world, standby), what="the standby to lead", deadline_s=60)
    print(f"took over {time.monotonic() - stopped:.2f} s after SIGTERM")
    assert leader.exit_code() == 0
    lease = world.apiserver.api.get(f"{LEASES}/{world.node}")
    assert lease["spec"]["leaseTransitions"] == 1


def test_without_the_api_server_nobody_leads_and_everybody_answers(
    world: World, replicas: tuple[Controller, Controller]
) -> None:
    pod = world.scene.pod("team-a", "asked-all-the-time")
    world.scene.put(0, pod.process())
    for each in replicas:
        world.controller = each
        world.wait_for_truth(pod.ref)
    world.apiserver.stop()
    try:
        for each in replicas:
            wait_until(
                lambda each=each: not ready(world, each),  # type: ignore[misc]
                what="its lease to end",
                deadline_s=60,
            )
            assert world.by_curl.get("/syncedz").status == 200
            assert world.by_client.ask(pod.ref).GpuPods
    finally:
        world.apiserver.start()
    wait_until(
        lambda: sorted(ready(world, each) for each in replicas) == [False, True],
        what="one of them to lead again",
        deadline_s=60,
    )
