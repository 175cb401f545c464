"""A node agent asked directly, as a person does while the controller is down."""

from __future__ import annotations

import json

import grpc
import pytest
from google.protobuf.json_format import ParseDict

from gpupods import Client
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.e2e.askers import METHOD
from tests.e2e.comparing import assert_is, missing_parts
from tests.e2e.scene import Scene
from tests.e2e.world import World
from tests.realparts import cgroups
from tests.realparts.grpcurl import Grpcurl
from tests.realparts.objects import PodIdentity

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def ask(grpcurl: Grpcurl, world: World, worker_id: str) -> pb.GetGpuPodsResponse:
    answer = grpcurl.call(world.agent.address, METHOD, {"worker_id": worker_id})
    assert answer.body is not None, answer.message
    return ParseDict(answer.body, pb.GetGpuPodsResponse())


def test_without_a_map_pods_are_named_from_the_runtimes_labels(
    scene: Scene, standing: World, grpcurl: Grpcurl
) -> None:
    pod = scene.pod("team-a", "labelled", owner=("Job", "not for the agent to know"))
    stray = PodIdentity("team-b", "unknown-to-the-cluster", "3a6b1f0e-1111-4222-8333-444455556666")
    container = scene.foreign_container(stray, "c", cgroup=cgroups.GUARANTEED, namespace="k8s.io")
    scene.put(0, pod.process(2))
    scene.put_container(1, container)
    scene.put(1, scene.host_process())
    truth = scene.truth_by_labels()
    assert_is(ask(grpcurl, standing, ""), truth)
    with Client(standing.agent.address) as client:
        assert_is(client.get_gpu_pods_message(""), truth)


@pytest.mark.parametrize("scheme", ["", "containerd://"])
def test_a_json_map_names_the_pods(
    scheme: str, scene: Scene, standing: World, grpcurl: Grpcurl
) -> None:
    mapped, unmapped = scene.pod("team-a", "mapped"), scene.pod("team-a", "unmapped")
    scene.put(0, mapped.process(3))
    scene.put(0, unmapped.process(3))
    ids = {mapped.containers["main"].id: "as-the-caller-calls-it", "0" * 64: "on no GPU"}
    worker_id = json.dumps({scheme + container: pod for container, pod in ids.items()})
    assert_is(ask(grpcurl, standing, worker_id), scene.truth_by_map(ids))


def test_a_map_of_more_than_4_mib(scene: Scene, standing: World, grpcurl: Grpcurl) -> None:
    pod = scene.pod("team-a", "one-of-many")
    scene.put(2, pod.process(1))
    ids = {pod.containers["main"].id: "one-of-many"}
    ids |= {f"{number:064x}": f"pod-{number}" for number in range(60_000)}
    worker_id = json.dumps(ids)
    assert len(worker_id) > 4 << 20
    assert_is(ask(grpcurl, standing, worker_id), scene.truth_by_map(ids))


@pytest.mark.parametrize("worker_id", ["team-a/trainer", "[]", '{"a": 1}', "{", '"a"'])
def test_what_is_no_map_is_refused(worker_id: str, standing: World, grpcurl: Grpcurl) -> None:
    answer = grpcurl.call(standing.agent.address, METHOD, {"worker_id": worker_id})
    assert answer.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "JSON object {containerID: pod name}" in answer.message


def test_a_name_at_the_agent_and_a_map_at_the_controller_are_sent_to_the_other(
    standing: World, grpcurl: Grpcurl
) -> None:
    at_agent = grpcurl.call(standing.agent.address, METHOD, {"worker_id": "trainer"})
    at_controller = grpcurl.call(standing.controller.grpc, METHOD, {"worker_id": "{}"})
    assert at_agent.code is at_controller.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "ask the controller" in at_agent.message
    assert "for node agents" in at_controller.message


@pytest.mark.parametrize("mode", ["auto", "cgroup", "runtime"])
def test_each_way_to_identify_gives_the_same_rows(mode: str, world: World) -> None:
    world.start_agent("--identify", mode)
    for shape in (cgroups.BURSTABLE, cgroups.SYSTEMD_BURSTABLE, cgroups.DRIVERS_DISAGREE):
        pod = world.scene.pod("team-a", f"shape-{len(shape)}", cgroup=shape)
        for number in range(4):
            world.scene.put(number % 3, pod.process(number))
    world.scene.put(0, world.scene.host_process())
    with Client(world.agent.address) as client:
        answer = client.get_gpu_pods_message("")
    assert missing_parts(answer) == []
    assert_is(answer, world.scene.truth_by_labels())
