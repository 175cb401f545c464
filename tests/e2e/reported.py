"""What an agent has written on its Node, as the real API server has it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from gpupods.node_annotations import UNHEALTHY_IDS
from tests.e2e.world import World
from tests.realparts.kubeapi import node_path

DEADLINE_S = 60.0

T = TypeVar("T")


@dataclass(frozen=True)
class Reported:
    """A Node."""

    annotations: dict[str, str]
    condition: dict[str, Any]
    """Ours; empty where there is none."""

    @property
    def ids(self) -> str | None:
        return self.annotations.get(UNHEALTHY_IDS)


def reporting_flags(world: World) -> tuple[str, ...]:
    """What an agent needs to report as the administrator, and to be no judge of this machine."""
    return ("--report", "--kubeconfig", str(world.apiserver.kubeconfig), "--kernel-log", "")


def until(ask: Callable[[], T], right: Callable[[T], object], what: str) -> T:
    """Ask until the answer is right."""
    end = time.monotonic() + DEADLINE_S
    while not right(answer := ask()):
        assert time.monotonic() < end, f"{what}: still {answer}"
        time.sleep(0.01)
    return answer


def until_watched(world: World) -> None:
    """Wait until the agent waits for the driver's events: earlier ones are nobody's."""
    until(lambda: world.driver.count("nvmlEventSetWait_v2").started, bool, "a wait for events")


def node_of(world: World) -> Reported:
    """The world's Node now."""
    node = world.apiserver.api.get(node_path(world.node))
    conditions = node.get("status", {}).get("conditions", [])
    ours = [each for each in conditions if each["type"] == "GpuUnfit"]
    return Reported(node["metadata"].get("annotations", {}), ours[0] if ours else {})


def until_node(world: World, right: Callable[[Reported], object]) -> Reported:
    """Wait until the Node is so."""
    return until(lambda: node_of(world), right, world.node)


def annotate(world: World, name: str, value: str | None) -> None:
    """As an operator does; None takes it away."""
    world.apiserver.api.patch(node_path(world.node), {"metadata": {"annotations": {name: value}}})


def events_on(world: World, kind: str, namespace: str, name: str) -> list[dict[str, Any]]:
    """What `kubectl describe` shows of it, oldest first."""
    selector = f"involvedObject.kind={kind},involvedObject.name={name}"
    path = f"/api/v1/namespaces/{namespace}/events?fieldSelector={selector}"
    listed: list[dict[str, Any]] = world.apiserver.api.get(path)["items"]
    return sorted(listed, key=lambda event: int(event["metadata"]["resourceVersion"]))
