"""Pods on a GPU that stays unfit are evicted by the real API server, if their budget allows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.reported import reporting_flags, until_node, until_watched
from tests.e2e.scene import ScenePod
from tests.e2e.world import World
from tests.fakedriver.faults import Event
from tests.realparts.kubeapi import ApiError, pod_path

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

NAMESPACE = "team-evicted"
DEADLINE_S = 90.0
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def events(world: World, pod: ScenePod) -> list[tuple[str, str]]:
    listed = world.apiserver.api.get(f"/api/v1/namespaces/{NAMESPACE}/events")["items"]
    ours = [each for each in listed if each["involvedObject"]["name"] == pod.name]
    return [
        (each["reason"], each["message"])
        for each in ours
        if each["source"]["component"] == "gpupods-controller"
    ]


def reasons(world: World, pod: ScenePod) -> set[str]:
    return {reason for reason, _ in events(world, pod)}


def is_going(world: World, pod: ScenePod) -> bool:
    """Evicted: deleted with a grace period, which a kubelet would let it have."""
    try:
        found: dict[str, Any] = world.apiserver.api.get(pod_path(NAMESPACE, pod.name))
    except ApiError as error:
        if error.status == 404:
            return True
        raise
    return "deletionTimestamp" in found["metadata"]


def make_ready(world: World, pod: ScenePod) -> None:
    """A pod that is not ready is no loss to a budget that has its number without it."""
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    world.apiserver.api.patch(f"{pod_path(NAMESPACE, pod.name)}/status", ready)


def budget(world: World, allowed: int) -> None:
    """Of the pods labelled app=kept. No controller counts here: its status is ours to write."""
    name = f"{BUDGETS}/kept"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}}
    if not world.apiserver.api.get(BUDGETS)["items"]:
        world.apiserver.api.post(BUDGETS, {"metadata": {"name": "kept"}, "spec": spec})
    generation = world.apiserver.api.get(name)["metadata"]["generation"]
    status = {
        "disruptionsAllowed": allowed,
        "currentHealthy": 1 + allowed,
        "desiredHealthy": 1,
        "expectedPods": 1 + allowed,
        "observedGeneration": generation,
    }
    world.apiserver.api.patch(f"{name}/status", {"status": status})


def test_a_budget_is_respected_and_then_allows_it(world: World) -> None:
    api = world.apiserver.api
    api.create_namespace(NAMESPACE)
    world.start_agent(*reporting_flags(world))
    until_watched(world)
    world.start_controller("--evict-after", "1", "--evict-pause", "1")
    kept = world.scene.pod(
        NAMESPACE, "kept-0", owner=("ReplicaSet", "kept"), labels={"app": "kept"}
    )
    free = world.scene.pod(NAMESPACE, "free-0", owner=("ReplicaSet", "free"))
    alone = world.scene.pod(NAMESPACE, "alone")
    elsewhere = world.scene.pod(NAMESPACE, "elsewhere-0", owner=("ReplicaSet", "elsewhere"))
    for pod in (kept, free, alone):
        world.scene.put(1, pod.process())
    world.scene.put(0, elsewhere.process())
    world.wait_for_truth(kept.ref)
    make_ready(world, kept)
    budget(world, allowed=0)

    world.driver.post(Event.xid(world.driver.scenario.gpus[1].uuid, 48))
    until_node(world, lambda node: node.ids == "1")
    until(lambda: is_going(world, free), "free-0 to be evicted")
    until(lambda: "EvictionRefused" in reasons(world, kept), "the budget to forbid it")
    until(lambda: "LeftOnUnfitGpu" in reasons(world, alone), "the lonely pod to be left alone")
    assert not is_going(world, kept)
    assert not is_going(world, alone)
    ((_, message),) = events(world, kept)
    assert "disruption budget" in message
    assert "GPU 1" in message
    assert "XID 48" in message

    budget(world, allowed=1)
    until(lambda: is_going(world, kept), "kept-0 to be evicted once its budget allows it")
    until(lambda: "EvictedFromUnfitGpu" in reasons(world, kept), "the event that says so")
    assert not is_going(world, elsewhere), "its GPU is fit"
    assert not is_going(world, alone)
