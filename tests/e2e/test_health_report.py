"""A GPU turns unfit, and its Node says so in the real API server: each part of what is written."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpupods.node_annotations import HEALTH, OVERRIDES, Override, OverrideKind, format_overrides
from tests.e2e.reported import (
    annotate,
    events_on,
    node_of,
    reporting_flags,
    until,
    until_node,
    until_watched,
)
from tests.e2e.test_doctor import gpu_node, of_the_node
from tests.e2e.world import World
from tests.fakedriver.faults import Event

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

QUICK = '[xid]\n95 = { class = "until-verified" }\n[recovery]\ndwell_s = 0.5\nclean_readings = 2\n'
"""An operator's policy that lets a GPU be fit again soon."""


def uuid(world: World, index: int) -> str:
    return world.driver.scenario.gpus[index].uuid


def start(world: World, *flags: str) -> None:
    world.start_agent(*reporting_flags(world), "--health-interval", "0.1", *flags)
    until_watched(world)


def until_looked(world: World) -> None:
    """Wait until the agent has seen who is on the GPUs."""
    asked = "nvmlDeviceGetComputeRunningProcesses_v3"
    gpus = len(world.driver.scenario.gpus)
    until(lambda: world.driver.count(asked).finished, lambda done: done >= gpus, "a look")


def word(kind: OverrideKind, board: str = "", until: datetime | None = None) -> Override:
    return Override(kind, "anna@example", "smells burnt", datetime.now(UTC), until, board)


def test_an_xid_is_on_the_node_with_all_that_an_operator_needs(world: World) -> None:
    start(world)
    world.driver.post(Event.xid(uuid(world, 1), 142))
    node = until_node(world, lambda now: now.ids == "1")
    (told,) = json.loads(node.annotations[HEALTH])
    assert (told["index"], told["xid"], told["standing"]) == (1, 142, "unfit")
    assert told["uuid"] == uuid(world, 1)
    assert told["pciAddress"]
    assert told["reason"].startswith("XID 142: ")
    assert told["action"]
    assert told["source"] == "nvml"
    assert datetime.fromisoformat(told["since"]) <= datetime.now(UTC)
    assert (node.condition["status"], node.condition["reason"]) == ("True", "SomeGpusUnfit")
    assert node.condition["message"].startswith("GPU 1: XID 142: ")


def test_all_of_it_goes_when_the_gpu_is_well_again(world: World, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(QUICK)
    start(world, "--health-policy", str(policy))
    world.driver.post(Event.xid(uuid(world, 2), 95))
    until_node(world, lambda now: now.ids == "2")
    node = until_node(world, lambda now: now.ids is None)
    assert HEALTH not in node.annotations
    assert (node.condition["status"], node.condition["reason"]) == ("False", "AllGpusFit")
    reasons = until(
        lambda: [each["reason"] for each in events_on(world, "Node", "default", world.node)],
        lambda now: now and now[-1] == "GpuFit",
        "events of the Node",
    )
    assert reasons[0] == "GpuUnfit"


def test_a_gpu_off_the_bus_names_the_pods_that_were_on_it(world: World) -> None:
    pod, other = world.scene.pod("team-a", "trainer"), world.scene.pod("team-b", "idle")
    world.scene.put(1, pod.process())
    world.scene.put(2, other.process())
    start(world)
    lists = "nvmlDeviceGetComputeRunningProcesses_v3"
    until(
        lambda: world.driver.count(lists).finished,
        lambda now: now >= len(world.driver.scenario.gpus),
        "a look at who is on the GPUs",
    )
    lost = uuid(world, 1)
    world.driver.change(lambda now: now.with_gpu(lost, lambda gpu: replace(gpu, lost=True)))
    until_node(world, lambda now: now.ids == "1")
    (event,) = until(lambda: events_on(world, "Pod", "team-a", "trainer"), bool, "an event")
    assert event["involvedObject"]["uid"] == pod.uid
    assert (event["reason"], event["type"]) == ("GpuUnfit", "Warning")
    assert f"GPU 1 ({uuid(world, 1)}) of {world.node}" in event["message"]
    assert events_on(world, "Pod", "team-b", "idle") == []
    shown = world.apiserver.kubectl("describe", "node", world.node)
    assert "GpuUnfit" in shown
    assert "is unfit to be given to anybody: lost: " in shown


def test_an_operator_excludes_a_gpu_and_takes_it_back(world: World) -> None:
    start(world)
    until_time = datetime.now(UTC) + timedelta(hours=1)
    excluded = word(OverrideKind.EXCLUDE, uuid(world, 0), until_time)
    annotate(world, OVERRIDES, format_overrides({0: excluded}))
    node = until_node(world, lambda now: now.ids == "0")
    (told,) = json.loads(node.annotations[HEALTH])
    assert (told["standing"], told["who"], told["source"]) == (
        "excluded",
        "anna@example",
        "operator",
    )
    assert datetime.fromisoformat(told["until"]) == until_time.replace(microsecond=0)
    annotate(world, OVERRIDES, None)
    until_node(world, lambda now: now.ids is None)


def test_an_operator_restores_a_gpu_once(world: World) -> None:
    """Whatever happens after that counts again, also when the agent is started anew."""
    state = ("--state-dir", str(world._programs.folder("state")))
    start(world, *state)
    world.driver.post(Event.xid(uuid(world, 1), 142))
    until_node(world, lambda now: now.ids == "1")
    annotate(world, OVERRIDES, format_overrides({1: word(OverrideKind.RESTORE)}))
    until_node(world, lambda now: now.ids is None)
    world.driver.post(Event.xid(uuid(world, 1), 142))
    until_node(world, lambda now: now.ids == "1")
    world.agent.stop()
    world.start_agent(*reporting_flags(world), *state, "--http-listen", "127.0.0.1:0")
    until(lambda: metric(world, "gpupods_nodeagent_gpus_judged"), lambda now: now == 1.0, "judged")
    assert node_of(world).ids == "1"


def test_words_that_cannot_be_heeded_are_the_doctors_to_tell(world: World) -> None:
    world.start_agent(*reporting_flags(world))
    world.start_controller()
    gpu_node(world)
    annotate(world, OVERRIDES, format_overrides({7: word(OverrideKind.EXCLUDE)}))
    found = until(
        lambda: check(world, "health watch"), lambda now: "GPU 7" in now, "the doctor's word"
    )
    assert "anna@example's word on GPU 7 counts for nothing" in found
    assert "there was nothing to write" in check(world, "health report")


def test_the_api_server_is_restarted_while_a_gpu_fails(world: World) -> None:
    start(world, "--http-listen", "127.0.0.1:0")
    world.apiserver.stop()
    world.driver.post(Event.xid(uuid(world, 1), 142))
    until(
        lambda: metric(world, "gpupods_nodeagent_report_pending"), lambda now: now == 1.0, "pending"
    )
    world.apiserver.start()
    until_node(world, lambda now: now.ids == "1")
    until(
        lambda: metric(world, "gpupods_nodeagent_report_pending"), lambda now: now == 0.0, "written"
    )
    assert metric(world, "gpupods_nodeagent_reports_written_total") == 1.0


def metric(world: World, name: str) -> float | None:
    """A metric without labels, as a scrape of the agent has it."""
    line = world.agent.logged("metrics are served")
    assert line is not None
    with urllib.request.urlopen(f"http://{line['http']}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    values = [each.split()[1] for each in text.splitlines() if each.startswith(f"{name} ")]
    return float(values[0]) if values else None


def check(world: World, name: str) -> str:
    """What the doctor has found of the world's node."""
    for each in of_the_node(world):
        if (each["name"], each["subject"]) == (name, world.node):
            return each["found"]
    return ""
