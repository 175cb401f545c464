"""Nothing is written while nothing changes, and one patch at a change: by the audit log."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from gpupods.kube.api import STRATEGIC_MERGE
from tests.e2e.audited import AuditedApiserver
from tests.e2e.programs import Programs
from tests.e2e.reported import node_of, reporting_flags, until_node, until_watched
from tests.e2e.world import World
from tests.fakedriver.faults import Event
from tests.fakedriver.scenario import Gpu
from tests.realparts.containerd import Containerd
from tests.realparts.kubeapi import node_path
from tests.realparts.parts import Parts

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

EIGHT = tuple(Gpu.number(index) for index in range(8))
OFTEN = ("--health-interval", "0.05")
DEADLINE_S = 60.0


@pytest.fixture(scope="module")
def audited(real_parts: Parts) -> Iterator[AuditedApiserver]:
    with AuditedApiserver(real_parts) as server:
        yield server


@pytest.fixture
def world(
    real_parts: Parts, audited: AuditedApiserver, containerd: Containerd, programs: Programs
) -> Iterator[World]:
    with World(real_parts, audited, containerd, programs, gpus=EIGHT) as world:
        yield world


def readings(world: World, many: int) -> None:
    """Wait for that many readings of all GPUs, while the kubelet's heartbeats come."""
    count = world.driver.count("nvmlDeviceGetCount_v2").finished + many
    end = time.monotonic() + DEADLINE_S
    while world.driver.count("nvmlDeviceGetCount_v2").finished < count:
        assert time.monotonic() < end, "the GPUs are not read any more"
        beat = {"type": "Ready", "status": "True", "message": str(time.time())}
        body = {"status": {"conditions": [beat]}}
        path = f"{node_path(world.node)}/status"
        world.apiserver.api._send("PATCH", path, body, STRATEGIC_MERGE)


def test_no_write_while_nothing_changes_whatever_is_restarted(
    world: World, audited: AuditedApiserver
) -> None:
    before = audited.writes()
    for _ in range(3):
        agent = world.start_agent(*reporting_flags(world), *OFTEN)
        readings(world, 60)
        agent.stop()
    assert audited.writes() == before


def test_eight_gpus_at_once_are_one_patch_and_then_nothing(
    world: World, audited: AuditedApiserver
) -> None:
    state = ("--state-dir", str(world._programs.folder("state")))
    agent = world.start_agent(*reporting_flags(world), *state)
    until_watched(world)
    world.driver.post(*(Event.xid(gpu.uuid, 142) for gpu in EIGHT))
    until_node(world, lambda now: now.ids == "0,1,2,3,4,5,6,7")
    assert audited.patches(world.node) == 1
    agent.stop()
    again = world.start_agent(*reporting_flags(world), *state, *OFTEN)
    readings(world, 60)
    assert audited.patches(world.node) == 1
    again.stop()
    told = [each for each in audited.writes() if each.what == "events"]
    assert len(told) == len(EIGHT), "and one event for each"


def test_what_somebody_takes_away_is_one_more(world: World, audited: AuditedApiserver) -> None:
    world.start_agent(*reporting_flags(world))
    until_watched(world)
    world.driver.post(Event.xid(EIGHT[3].uuid, 142))
    until_node(world, lambda now: now.ids == "3")
    taken = {"volcano.sh/gpu-unhealthy-ids": None, "gpupods.io/gpu-health": None}
    world.apiserver.api.patch(node_path(world.node), {"metadata": {"annotations": taken}})
    assert "gpupods.io/gpu-health" in until_node(world, lambda now: now.ids == "3").annotations
    assert audited.patches(world.node) == 2
    assert node_of(world).condition["status"] == "True"
