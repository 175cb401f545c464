"""Which pod's process is on which GPU: asked in four ways, by three kinds of pod id."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from gpupods import AsyncClient, Client
from gpupods.client.answer import PodProcess, UnattributedProcess
from tests.e2e.askers import Asker
from tests.e2e.comparing import as_json, assert_is
from tests.e2e.scene import Scene, ScenePod
from tests.e2e.world import World
from tests.fakedriver.scenario import GIB, MIB, ProcessKind
from tests.realparts import cgroups
from tests.realparts.grpcurl import Grpcurl
from tests.realparts.objects import PodIdentity

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

WAYS = ("grpcurl", "curl", "gpupods get", "Client")
IDS = ("name", "namespace/name", "uid")


@pytest.fixture(scope="module")
def asked(standing: World) -> Iterator[ScenePod]:
    """A pod on a node that has all kinds of processes; the standing world's scene is that node."""
    with Scene(standing.node, standing.apiserver, standing.containerd, standing.driver) as scene:
        standing.scene = scene
        pod = fill(scene)
        standing.wait_for_truth(pod.ref)
        yield pod


def fill(scene: Scene) -> ScenePod:
    """Put pods, containers and host processes on the node; returns the pod with most of them."""
    trainer = scene.pod(
        "team-a",
        "trainer-5d4f8c7b9-x2x4z",
        owner=("ReplicaSet", "trainer-5d4f8c7b9"),
        seen_owner=("Deployment", "trainer"),
        labels={"pod-template-hash": "5d4f8c7b9"},
        containers=("main", "exporter"),
        sandbox=True,
    )
    scene.put(0, trainer.process(0), memory=10 * GIB)
    scene.put(0, trainer.process(3), memory=20 * GIB)
    scene.put(1, trainer.process(3), memory=300 * MIB)
    scene.put(0, trainer.process(1, container="exporter"), memory=None)
    for namespace in ("team-a", "team-b"):
        server = scene.pod(namespace, "server-0", owner=("StatefulSet", "server"))
        scene.put(1, server.process(2), kinds=ProcessKind.COMPUTE | ProcessKind.GRAPHICS)
    client = scene.pod("team-b", "mps-client", cgroup=cgroups.SYSTEMD_GUARANTEED)
    scene.put(1, client.process(), kinds=ProcessKind.MPS | ProcessKind.COMPUTE)
    deleted = PodIdentity("team-a", "deleted-long-ago", "0e8b35ab-9d3c-4a0c-8d0f-0123456789ab")
    stray = scene.foreign_container(deleted, "main", cgroup=cgroups.BEST_EFFORT, namespace="k8s.io")
    scene.put_container(1, stray)
    docker = scene.foreign_container(deleted, "shell", cgroup=cgroups.DOCKER, namespace="moby")
    scene.put_container(0, docker)
    scene.put(0, scene.host_process(), memory=None, kinds=ProcessKind.GRAPHICS)
    return trainer


def the_asker(way: str, world: World, grpcurl: Grpcurl) -> Asker:
    askers: dict[str, Asker] = {
        "grpcurl": world.by_grpcurl(grpcurl),
        "curl": world.by_curl,
        "gpupods get": world.by_command,
        "Client": world.by_client,
    }
    return askers[way]


def the_id(kind: str, pod: ScenePod) -> str:
    return {"name": pod.name, "namespace/name": pod.ref, "uid": pod.uid}[kind]


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_exactly_the_expected_rows(
    way: str, kind: str, asked: ScenePod, standing: World, grpcurl: Grpcurl
) -> None:
    before = time.time()
    answer = the_asker(way, standing, grpcurl).ask(the_id(kind, asked))
    assert_is(answer, standing.scene.truth())
    # A second's slack: the clock may be set meanwhile.
    assert before - 1 < answer.sample_time.ToNanoseconds() / 1e9 < time.time() + 1


@pytest.mark.parametrize("way", WAYS)
def test_narrowed_to_the_pod_the_other_rows_are_left_out_and_the_gpus_stay(
    way: str, asked: ScenePod, standing: World, grpcurl: Grpcurl
) -> None:
    truth = standing.scene.truth()
    narrowed = type(truth)(node_name=truth.node_name, GpuInfos=truth.GpuInfos)
    for gpu, pods in truth.GpuPods.items():
        for row in pods.pidPods:
            if row.pod_uid == asked.uid:
                narrowed.GpuPods[gpu].pidPods.append(row)
    answer = the_asker(way, standing, grpcurl).ask(asked.ref, only_this_pod=True)
    assert_is(answer, narrowed)


def test_http_writes_the_json_of_grpc_gateway(asked: ScenePod, standing: World) -> None:
    answer = standing.by_curl.get(worker_id=asked.uid)
    assert (answer.status, answer.content_type) == (200, "application/json")
    gpu = standing.driver.scenario.gpus[0]
    rows = {row["pid"]: row for row in answer.body["GpuPods"][gpu.uuid]["pidPods"]}
    row = rows[asked.containers["main"].pids[0]]
    assert row.pop("startTime").endswith("Z")
    assert row == {
        "pid": asked.containers["main"].pids[0],
        "processName": "sh",
        "UsedGpuMemory": "10240",
        "pod": "trainer-5d4f8c7b9-x2x4z",
        "namespace": "team-a",
        "podUid": asked.uid,
        "containerName": "main",
        "containerId": asked.containers["main"].id,
        "owner": {"kind": "Deployment", "name": "trainer"},
        "types": ["PROCESS_TYPE_COMPUTE"],
        "memoryKnown": True,
        "mig": None,
    }
    assert answer.body["GpuInfos"][gpu.uuid]["usageGpu"] == 87
    assert answer.body["missing"] == []


def test_the_client_gives_the_rows_as_python_values(asked: ScenePod, standing: World) -> None:
    with Client(standing.controller.grpc) as client:
        answer = client.get_gpu_pods(asked.ref)
    assert answer.complete
    assert [state.info.index for state in answer.gpus] == [0, 1, 2]
    first, second, idle = answer.gpus
    assert idle.processes == ()
    main, exporter = asked.containers["main"], asked.containers["exporter"]
    assert {facts(row) for row in first.rows} == {
        (main.pids[0], "team-a", asked.name, "main", "Deployment/trainer", 10240),
        (main.pids[3], "team-a", asked.name, "main", "Deployment/trainer", 20480),
        (exporter.pids[1], "team-a", asked.name, "exporter", "Deployment/trainer", None),
    }
    assert {other.reason.value for other in first.unattributed} == {"host process", "other runtime"}
    servers = {row.namespace for row in second.rows if row.pod == "server-0"}
    assert servers == {"team-a", "team-b"}
    assert [reasons(other) for other in second.unattributed] == [
        ("unknown container", "deleted-long-ago")
    ]


def facts(row: PodProcess) -> tuple[object, ...]:
    owner = str(row.owner)
    return (row.pid, row.namespace, row.pod, row.container_name, owner, row.memory_mib)


def reasons(other: UnattributedProcess) -> tuple[str, str]:
    assert "deleted-long-ago" in other.detail
    return other.reason.value, "deleted-long-ago"


async def test_the_client_for_asyncio_gives_the_same(asked: ScenePod, standing: World) -> None:
    async with AsyncClient(standing.controller.grpc) as client:
        answer = await client.get_gpu_pods_message(asked.uid, timeout_s=20)
    assert_is(answer, standing.scene.truth())


def test_the_table_names_every_process(asked: ScenePod, standing: World) -> None:
    done = standing.by_command.run(asked.ref, "-o", "wide")
    assert (done.code, done.stderr) == (0, "")
    for row in (row for pods in standing.scene.truth().GpuPods.values() for row in pods.pidPods):
        assert any(
            str(row.pid) in line.split() and row.pod in line for line in done.stdout.splitlines()
        ), f"{row.pid} of {row.pod} is not in\n{done.stdout}"


def test_a_name_that_two_namespaces_have_is_refused_with_the_candidates(
    asked: ScenePod, standing: World, grpcurl: Grpcurl
) -> None:
    refused = grpcurl.call(
        standing.controller.grpc,
        "gpupods.v1alpha1.GpuPodsService/GetGpuPods",
        {"worker_id": "server-0"},
    )
    assert refused.code.name == "FAILED_PRECONDITION"
    assert "team-a/server-0, team-b/server-0" in refused.message
    assert_is(standing.by_client.ask("team-b/server-0"), standing.scene.truth())


def test_the_truth_is_told_by_foreign_eyes_too(asked: ScenePod, standing: World) -> None:
    """That this suite's truth is not empty or wrong in a way that everything agrees with."""
    truth = as_json(standing.scene.truth())
    assert sum(len(pods["pidPods"]) for pods in truth["GpuPods"].values()) == 7
    assert sum(len(others["processes"]) for others in truth["unattributed"].values()) == 3
    listed = standing.containerd.ctr("task", "ps", asked.containers["main"].id).splitlines()[1:]
    assert asked.containers["main"].pids[3] in {int(line.split()[0]) for line in listed}
    assert asked.name in standing.apiserver.kubectl("get", "pods", "-n", "team-a")
