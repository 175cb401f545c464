"""What an agent has written on its Node, as the real API server has it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpupods.node_annotations import UNHEALTHY_IDS
from tests.e2e.world import World
from tests.realparts.kubeapi import node_path

DEADLINE_S = 60.0


@dataclass(frozen=True)
class Reported:
    """A Node."""

    annotations: dict[str, str]
    condition: dict[str, Any]
    """Ours; empty where there is none."""
    version: str

    @property
    def ids(self) -> str | None:
        return self.annotations.get(UNHEALTHY_IDS)


def reporting_flags(world: World) -> tuple[str, ...]:
    """What an agent needs to report as the administrator."""
    return ("--report", "--kubeconfig", str(world.apiserver.kubeconfig), "--kernel-log", "")


def until_watched(world: World) -> None:
    """Wait until the agent waits for the driver's events: earlier ones are nobody's."""
    end = time.monotonic() + DEADLINE_S
    while not world.driver.count("nvmlEventSetWait_v2").started:
        assert time.monotonic() < end, "the agent waits for no events"
        time.sleep(0.01)


def node_of(world: World) -> Reported:
    """The world's Node now."""
    node = world.apiserver.api.get(node_path(world.node))
    conditions = node.get("status", {}).get("conditions", [])
    ours = [each for each in conditions if each["type"] == "GpuUnfit"]
    metadata = node["metadata"]
    return Reported(
        metadata.get("annotations", {}), ours[0] if ours else {}, metadata["resourceVersion"]
    )


def until_node(world: World, right: Callable[[Reported], bool]) -> Reported:
    """Wait until the Node is so."""
    end = time.monotonic() + DEADLINE_S
    while not right(node := node_of(world)):
        assert time.monotonic() < end, f"still not so: {node}"
        time.sleep(0.01)
    return node
