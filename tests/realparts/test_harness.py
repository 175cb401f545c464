"""The harness does what the end-to-end tests rely on, with the real parts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from tests.realparts import cgroups, ocispec, proctree
from tests.realparts.apiserver import Apiserver
from tests.realparts.containerd import Containerd, Request
from tests.realparts.grpcurl import Grpcurl, GrpcurlError
from tests.realparts.objects import ContainerStatus, PodIdentity, node, pod, running
from tests.realparts.processes import PartFailedError, Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.realparts.parts import Parts

# The first run builds kube-apiserver, which takes minutes.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

_SHAPES = [
    cgroups.BURSTABLE,
    cgroups.GUARANTEED,
    cgroups.SYSTEMD_BURSTABLE,
    cgroups.DRIVERS_DISAGREE,
]
_SHIM_SOCKETS = Path("/run/containerd/s")


def a_pod(name: str = "train") -> PodIdentity:
    return PodIdentity("team", name, str(uuid.uuid4()))


def states(containerd: Containerd) -> dict[str, str]:
    """Container id -> state, as `ctr task ls` prints them."""
    lines = containerd.ctr("task", "ls").splitlines()[1:]
    return {line.split()[0]: line.split()[2] for line in lines}


def test_kubectl_lists_a_node_that_was_made_through_the_api(apiserver: Apiserver) -> None:
    apiserver.api.create_node(node("listed", "10.0.0.1"))
    rows = [line.split()[:2] for line in apiserver.kubectl("get", "nodes").splitlines()]
    assert ["listed", "Ready"] in rows
    assert "Server Version: v1.37." in apiserver.kubectl("version")


def test_a_restarted_server_has_its_objects_and_its_address(apiserver: Apiserver) -> None:
    status = ContainerStatus("main", "a" * 64, last_id="b" * 64)
    made = apiserver.api.create_pod(pod("default", "kept", node_name="n"), status)
    before, url = apiserver.pid, apiserver.url
    apiserver.restart()
    assert (apiserver.pid != before, apiserver.url) == (True, url)
    kept = apiserver.api.get("/api/v1/namespaces/default/pods/kept")
    assert kept["metadata"]["uid"] == made["metadata"]["uid"]
    assert kept["status"]["containerStatuses"][0]["containerID"] == f"containerd://{'a' * 64}"


def test_loaded_objects_are_like_those_made_through_the_api(apiserver: Apiserver) -> None:
    status = running(ContainerStatus("main", "c" * 64))
    many = (
        {**pod("default", f"many-{n}", node_name="loaded"), "status": status} for n in range(60)
    )
    assert apiserver.load([node("loaded", "10.0.0.9"), *many]) == 61
    listed = apiserver.api.get("/api/v1/pods?fieldSelector=spec.nodeName=loaded")["items"]
    assert len({one["metadata"]["uid"] for one in listed}) == 60
    assert {one["spec"]["dnsPolicy"] for one in listed} == {"ClusterFirst"}
    changed = apiserver.api.set_containers("default", "many-7", ContainerStatus("main", "d" * 64))
    assert changed["status"]["containerStatuses"][0]["containerID"] == f"containerd://{'d' * 64}"
    apiserver.api.delete_pod("default", "many-8")
    assert "many-8 " not in apiserver.kubectl("get", "pods")
    moved = apiserver.api.set_addresses("loaded", "10.0.0.10", "fd00::1")
    assert [one["address"] for one in moved["status"]["addresses"]][:2] == ["10.0.0.10", "fd00::1"]


@pytest.mark.parametrize("shape", _SHAPES)
def test_a_container_is_in_the_cgroup_that_was_asked_for(
    containerd: Containerd, shape: str
) -> None:
    container = containerd.run_container(a_pod(), "main", cgroup=shape)
    assert len(set(container.pids)) == ocispec.count(ocispec.NESTED) == 4
    for pid in container.pids:
        assert proctree.cgroup_paths(pid) == {container.cgroup}
    assert cgroups.processes(container.cgroup) == set(container.pids)
    containerd.delete_container(container)
    assert not cgroups.exists(container.cgroup)


def test_the_runtime_lists_the_processes_and_labels(containerd: Containerd) -> None:
    owner = a_pod()
    sandbox = containerd.run_sandbox(owner)
    container = containerd.run_container(owner, "main")
    assert states(containerd).items() >= {sandbox.id: "RUNNING", container.id: "RUNNING"}.items()
    listed = containerd.ctr("task", "ps", container.id).splitlines()[1:]
    assert {int(line.split()[0]) for line in listed} == set(container.pids)
    selected = containerd.ctr("container", "ls", f'labels."io.kubernetes.pod.uid"=={owner.uid}')
    assert {line.split()[0] for line in selected.splitlines()[1:]} == {sandbox.id, container.id}
    assert proctree.parent(container.pids[0]) == proctree.parent(sandbox.pids[0])


def test_containers_run_on_while_the_daemon_is_away(containerd: Containerd) -> None:
    container = containerd.run_container(a_pod(), "main")
    containerd.stop()
    with pytest.raises(PartFailedError):
        containerd.ctr("task", "ls")
    assert proctree.descendants(container.pids[0]) == container.pids
    containerd.start()
    assert states(containerd)[container.id] == "RUNNING"


def test_a_killed_container_stays_in_the_list(containerd: Containerd) -> None:
    container = containerd.run_container(a_pod(), "main")
    containerd.kill(container)
    assert states(containerd)[container.id] == "STOPPED"


def test_a_stuck_shim_answers_again_when_it_is_let_go(containerd: Containerd) -> None:
    container = containerd.run_container(a_pod(), "main")
    with containerd.stuck_shim(container):
        assert states(containerd)[container.id] == "UNKNOWN"
    assert states(containerd)[container.id] == "RUNNING"


def test_nothing_is_left_of_containerd(real_parts: Parts) -> None:
    sockets = set(_SHIM_SOCKETS.glob("*"))
    with Containerd(real_parts) as daemon:
        owner = a_pod()
        daemon.run_sandbox(owner)
        alone, *_ = ran = daemon.run_containers([Request(owner, f"c{n}") for n in range(3)])
        os.kill(proctree.parent(alone.pids[0]), signal.SIGSTOP)
        folder = daemon.socket.parent
    assert not folder.exists()
    assert not any(proctree.alive(pid) for container in ran for pid in container.pids)
    assert not any(map(proctree.alive, proctree.with_argument("-address", str(daemon.socket))))
    assert not cgroups.exists(f"/kubepods/burstable/pod{owner.uid}")
    assert set(_SHIM_SOCKETS.glob("*")) == sockets
    assert not any(str(folder) in point for point in proctree.mount_points())


def test_nothing_is_left_of_a_server_when_a_test_raises(real_parts: Parts) -> None:
    def start_and_raise() -> None:
        with server:
            pids.append(server.pid)
            raise KeyboardInterrupt

    server, pids = Apiserver(real_parts), list[int]()
    with pytest.raises(KeyboardInterrupt):
        start_and_raise()
    assert not server.ca.parent.exists()
    assert not proctree.alive(pids[0])


_RUN_UNTIL_STOPPED = """
import json, signal
from tests.realparts import parts
from tests.realparts.containerd import Containerd
from tests.realparts.objects import PodIdentity
with Containerd(parts.ensure()) as daemon:
    container = daemon.run_container(PodIdentity("team", "train", "stopped-by-a-signal"), "main")
    print(json.dumps([str(daemon.socket.parent), container.cgroup, *container.pids]), flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_a_signal_ends(
    real_parts: Parts, number: signal.Signals
) -> None:
    run = subprocess.Popen([sys.executable, "-c", _RUN_UNTIL_STOPPED], stdout=subprocess.PIPE)
    assert run.stdout is not None
    folder, cgroup, *pids = json.loads(run.stdout.readline())
    assert cgroups.processes(cgroup) == set(pids)
    run.send_signal(number)
    run.communicate(timeout=60)
    if number == signal.SIGKILL:
        # Nobody could clear away then: the next run does.
        assert all(map(proctree.alive, pids))
        Supervisor().close()
    assert not Path(folder).exists()
    assert not any(map(proctree.alive, pids))
    assert not cgroups.exists(str(Path(cgroup).parent))


def test_a_part_that_fails_to_start_shows_its_log() -> None:
    with (
        Supervisor() as supervisor,
        pytest.raises(PartFailedError, match=r"(?s)ended with 3 at its start.*no such flag"),
    ):
        supervisor.start("part", ["sh", "-c", "echo no such flag; exit 3"], ready=lambda: False)


@pytest.fixture
def health_server() -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
    reflection.enable_server_reflection([health.SERVICE_NAME, reflection.SERVICE_NAME], server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


def test_grpcurl_gives_answers_and_statuses(grpcurl: Grpcurl, health_server: str) -> None:
    check = "grpc.health.v1.Health/Check"
    assert "grpc.health.v1.Health" in grpcurl.services(health_server)
    good = grpcurl.call(health_server, check, {"service": ""})
    assert (good.code, good.body) == (grpc.StatusCode.OK, {"status": "SERVING"})
    bad = grpcurl.call(health_server, check, {"service": "none"})
    assert (bad.code, bad.body) == (grpc.StatusCode.NOT_FOUND, None)


def test_grpcurl_tells_a_server_that_is_not_there(grpcurl: Grpcurl) -> None:
    with pytest.raises(GrpcurlError, match="Failed to dial"):
        grpcurl.call("127.0.0.1:1", "grpc.health.v1.Health/Check", deadline_s=1)
