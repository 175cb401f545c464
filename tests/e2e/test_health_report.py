"""A GPU turns unfit, and its Node says so in the real API server: each part of what is written."""

from __future__ import annotations

import json

import pytest

from gpupods.node_annotations import HEALTH, UNHEALTHY_IDS
from tests.e2e.reported import Reported, reporting_flags, until_node, until_watched
from tests.e2e.world import World
from tests.fakedriver.faults import Event

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def test_an_xid_is_on_the_node_and_goes_when_the_gpu_is_well_again(world: World) -> None:
    world.start_agent(*reporting_flags(world))
    until_watched(world)
    world.driver.post(Event.xid(world.driver.scenario.gpus[1].uuid, 142))
    node = until_node(world, lambda now: now.ids == "1")
    (told,) = json.loads(node.annotations[HEALTH])
    assert told["uuid"] == world.driver.scenario.gpus[1].uuid
    assert (told["index"], told["xid"], told["standing"]) == (1, 142, "unfit")
    assert told["reason"].startswith("XID 142: ")
    assert told["action"]
    condition = node.condition
    assert (condition["status"], condition["reason"]) == ("True", "SomeGpusUnfit")
    assert condition["message"].startswith("GPU 1: XID 142: ")
    assert isinstance(node, Reported)
    assert node.annotations[UNHEALTHY_IDS] == "1"
