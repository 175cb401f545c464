"""`gpupods gpu exclude` and `restore` on the real API server, heeded by a real agent."""

from __future__ import annotations

import json

import pytest

from gpupods.node_annotations import OVERRIDES, UNHEALTHY_IDS, parse_overrides
from tests.e2e.programs import Ended, run_script
from tests.e2e.reported import node_of, reporting_flags, until_node, until_watched
from tests.e2e.world import World
from tests.realparts.kubeapi import node_path

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ADMIN = "admin"
"""As whom the kubeconfig of the harness logs in."""


@pytest.fixture
def reporting(world: World) -> World:
    world.start(*reporting_flags(world))
    until_watched(world)
    return world


def gpu(world: World, *words: str) -> Ended:
    """`gpupods gpu ...`, as the administrator; `list` asks the world's controller."""
    asked = {"GPUPODS_SERVER": world.controller.grpc} if words[0] == "list" else {}
    kubeconfig = {"KUBECONFIG": str(world.apiserver.kubeconfig)}
    return run_script("gpupods", "gpu", *words, env=kubeconfig | asked)


def table(world: World) -> list[list[str]]:
    lines = gpu(world, "list", world.node).stdout.splitlines()
    return [line.split() for line in lines if line.startswith(world.node)]


def test_a_word_is_written_heeded_listed_and_taken_back(reporting: World) -> None:
    node = reporting.node
    said = gpu(reporting, "exclude", node, "1", "--reason", "gets too hot", "--for", "8h")
    assert said.code == 0, said.stderr
    assert f"GPU 1 of node {node} is excluded by {ADMIN}, until " in said.stdout
    seen = node_of(reporting)
    assert seen.ids == "1"
    word = parse_overrides(seen.annotations[OVERRIDES])[0][1]
    assert (word.who, word.why) == (ADMIN, "gets too hot")
    assert word.until is not None

    assert [row[:2] for row in table(reporting)] == [[node, "0"], [node, "1"], [node, "2"]]
    excluded = table(reporting)[1]
    assert "EXCLUDED" in excluded
    assert f"excluded by {ADMIN}: gets too hot" in " ".join(excluded)
    listed = json.loads(gpu(reporting, "list", "--unfit", node, "-o", "json").stdout)
    (only,) = listed["gpus"]
    assert (only["info"]["index"], only["announced"]) == (1, True)
    assert only["info"]["healthDetail"]["operator"] == ADMIN

    said = gpu(reporting, "restore", node, "1", "--reason", "fan replaced", "--who", "ada")
    assert said.code == 0, said.stderr
    assert "is fit" in said.stdout
    assert node_of(reporting).ids is None
    assert gpu(reporting, "restore", node, "1", "--reason", "again").stdout.endswith(
        "nobody has excluded it: there is nothing to restore.\n"
    )


def test_other_words_stay_as_they_were_written(reporting: World) -> None:
    theirs = '{"0":{"kind":"exclude","who":"bob","why":"x","given":"2026-01-01T00:00:00Z","v":2}}'
    path = node_path(reporting.node)
    reporting.apiserver.api.patch(path, {"metadata": {"annotations": {OVERRIDES: theirs}}})
    until_node(reporting, lambda node: node.ids == "0")
    said = gpu(reporting, "exclude", reporting.node, "2", "--reason", "too", "--who", "ada")
    assert said.code == 0, said.stderr
    words = json.loads(node_of(reporting).annotations[OVERRIDES])
    assert words["0"] == json.loads(theirs)["0"]
    assert node_of(reporting).annotations[UNHEALTHY_IDS] == "0,2"


def test_an_annotation_that_nobody_can_read_is_replaced_only_when_told_to(
    reporting: World,
) -> None:
    path = node_path(reporting.node)
    reporting.apiserver.api.patch(path, {"metadata": {"annotations": {OVERRIDES: "oops"}}})
    words = ("exclude", reporting.node, "1", "--reason", "hot")
    refused = gpu(reporting, *words)
    assert refused.code == 1
    assert "is not a JSON object" in refused.stderr
    assert "--replace" in refused.stderr
    assert node_of(reporting).annotations[OVERRIDES] == "oops"
    assert gpu(reporting, *words, "--replace").code == 0


def test_what_is_refused(reporting: World) -> None:
    node = reporting.node
    said = gpu(reporting, "exclude", node[:-1] + "x", "0", "--reason", "hot")
    assert said.code == 1
    assert "the cluster has no node" in said.stderr
    assert node in said.stderr, "there is one like it"
    reporting.apiserver.api.patch(
        f"{node_path(node)}/status", {"status": {"capacity": {"volcano.sh/gpu-number": "3"}}}
    )
    said = gpu(reporting, "exclude", node, "3", "--reason", "hot")
    assert said.code == 1
    assert "has 3 GPUs by its capacity of volcano.sh/gpu-number: 0 to 2" in said.stderr
    assert OVERRIDES not in node_of(reporting).annotations


def test_without_an_agent_that_reports_it_is_written_and_said_not_to_be_heeded(
    world: World,
) -> None:
    world.start()
    said = gpu(world, "exclude", world.node, "1", "--reason", "hot", "--timeout", "1s")
    assert said.code == 4
    assert "the word is written, and the node's agent has not taken it within 1 s" in said.stderr
    assert "--report" in said.stderr
    assert OVERRIDES in node_of(world).annotations
    assert gpu(world, "exclude", world.node, "1", "--reason", "hot", "--no-wait").code == 0
