"""The images: what is in them, and that they run as their pods run them.

The agent is tried with the user, the group and the mounts of its DaemonSet on a real containerd:
what that is not allowed, the DaemonSet need not be either.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Final

import pytest

from gpupods import Client
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.cluster import building
from tests.fakedriver.driver import CALLS_VARIABLE, SCENARIO_VARIABLE, FakeDriver
from tests.fakedriver.scenario import Gpu, Process, Scenario
from tests.manifests.podman import Podman, PodmanError
from tests.manifests.rendering import MANIFESTS, kustomize, objects, one, pod_template
from tests.realparts import debian
from tests.realparts.objects import PodIdentity
from tests.realparts.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.realparts.containerd import Containerd

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

MB: Final = 1_000_000
MOST_ABOVE_THE_BASE: Final = 150 * MB
PARTS: Final = ("controller", "nodeagent")
TRAINER: Final = PodIdentity("team", "trainer", "3a6b1f0e-1111-4222-8333-444455556666")
_BUILDERS: Final = {
    name: debian.Program(name, name) for name in ("buildah", "debootstrap", "podman")
}


class Builder:
    """What builds the images."""

    def __init__(self) -> None:
        found = debian.ensure(_BUILDERS)
        self.buildah, self.podman = found["buildah"], found["podman"]


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    """Podman that has the images of the present sources."""
    builder = Builder()
    archives = building.archives(builder)
    with Podman(builder.podman) as ready:
        for archive in archives.values():
            ready.load(archive)
        yield ready


@pytest.mark.parametrize("part", PARTS)
def test_it_starts_without_writing_anything_anywhere(part: str, podman: Podman) -> None:
    project = tomllib.loads((MANIFESTS.parent / "pyproject.toml").read_text())["project"]
    image, program = building.image(part), f"gpupods-{part}"
    assert podman.output(image, "--version") == f"{program} {project['version']}\n"
    assert f"Usage: {program}" in podman.output(image, "--help")
    assert podman.output(image, "--version", entrypoint="gpupods").startswith("gpupods ")


@pytest.mark.parametrize("part", PARTS)
def test_it_is_small_and_says_what_it_is(part: str, podman: Podman) -> None:
    described = podman.image(building.image(part))
    above = described["Size"] - podman.image(building.BASE)["Size"]
    print(f"gpupods-{part}: {described['Size'] / MB:.0f} MB, {above / MB:.0f} above its base")
    assert above < MOST_ABOVE_THE_BASE
    labels = described["Labels"]
    assert labels["org.opencontainers.image.version"] == building.version()
    assert labels["org.opencontainers.image.title"] == f"gpupods-{part}"
    assert described["User"].split(":")[0] == "65532"
    assert described["Healthcheck"]["Test"]


@pytest.mark.parametrize("part", PARTS)
def test_there_is_nothing_to_build_with(part: str, podman: Podman) -> None:
    script = "for each in gcc cc ld strip pip pip3 uv make git; do command -v $each; done; true"
    assert podman.output(building.image(part), "-c", script, entrypoint="sh") == ""
    modules = "import importlib.util as u; print([m for m in %r if u.find_spec(m)])"
    foreign = ("pip", "setuptools", "grpc_tools", "hatchling")
    wanted = modules % (foreign,)
    assert podman.output(building.image(part), "-c", wanted, entrypoint="python") == "[]\n"


IMPORT_ALL: Final = """
import importlib, pkgutil
for package in %r:
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        importlib.import_module(found.name)
print("all there")
"""


@pytest.mark.parametrize("part", PARTS)
def test_every_module_finds_what_it_imports(part: str, podman: Podman) -> None:
    script = IMPORT_ALL % ([part, "gpupods"],)
    assert podman.output(building.image(part), "-c", script, entrypoint="python") == "all there\n"


def test_the_agent_s_image_has_no_kubernetes_package(podman: Podman) -> None:
    script = "import importlib.util as u; print(u.find_spec('kubernetes'))"
    found = podman.output(building.image("nodeagent"), "-c", script, entrypoint="python")
    assert found == "None\n"


def test_the_controller_s_image_has_a_client_that_works(podman: Podman) -> None:
    script = (
        "import kubernetes.stream; from kubernetes import client, config; "
        "print(client.V1Pod(kind='Pod').to_dict()['kind'], client.CoreV1Api.__name__)"
    )
    found = podman.output(building.image("controller"), "-c", script, entrypoint="python")
    assert found == "Pod CoreV1Api\n"


class Agent:
    """The agent's container beside a containerd in which one pod's process is on a GPU."""

    def __init__(self, podman: Podman, containerd: Containerd, folder: Path) -> None:
        self._podman, self._containerd = podman, containerd
        # As containerd makes /run/containerd; the harness keeps its own to itself.
        containerd.socket.parent.chmod(0o711)
        container = containerd.run_container(TRAINER, "main")
        gpu = Gpu.number(0, Process(container.pids[0]))
        self._driver = FakeDriver(folder / "driver", Scenario((gpu,)))
        self._driver.calls_path.chmod(0o666)

    def start(self, *options: str) -> str:
        """Start it; the container's id."""
        state = self._driver.scenario_path.parent
        environment = {
            "LD_LIBRARY_PATH": "/driver/lib",
            SCENARIO_VARIABLE: f"/driver/state/{self._driver.scenario_path.name}",
            CALLS_VARIABLE: f"/driver/state/{self._driver.calls_path.name}",
            "GPUPODS_NODEAGENT_GRPC_LISTEN": "127.0.0.1:0",
            "GPUPODS_NODEAGENT_IDENTIFY": "runtime",
        }
        folders = {self._driver.library_dir: "lib:ro", state: "state"}
        mounts = [f"--volume={folder}:/driver/{name}" for folder, name in folders.items()]
        socket = f"--volume={self._containerd.socket.parent}:/run/containerd:ro,rslave"
        host = ("--pid=host", "--network=host")
        words = (*host, *mounts, socket, *options)
        return self._podman.start(building.image("nodeagent"), options=words, env=environment)

    def answer(self, container: str) -> pb.GetGpuPodsResponse:
        """What it says of the node."""
        target = self._podman.logged(container, "node agent serves")["grpc"]
        with Client(target) as client:
            return client.get_gpu_pods_message("")


@pytest.fixture(scope="module")
def agent(
    podman: Podman, containerd: Containerd, tmp_path_factory: pytest.TempPathFactory
) -> Agent:
    return Agent(podman, containerd, tmp_path_factory.mktemp("agent"))


def pods(answer: pb.GetGpuPodsResponse) -> list[str]:
    return [row.pod for gpu in answer.GpuPods.values() for row in gpu.pidPods]


def test_the_agent_needs_neither_root_nor_any_capability(agent: Agent) -> None:
    answer = agent.answer(agent.start())
    assert pods(answer) == [TRAINER.name]
    assert not answer.missing


def test_without_group_0_it_says_that_the_socket_is_closed_to_it(agent: Agent) -> None:
    answer = agent.answer(agent.start("--user=65532:65532"))
    assert pods(answer) == []
    kinds = {part.kind for part in answer.missing}
    assert pb.MISSING_KIND_RUNTIME in kinds


def test_containerd_is_found_again_after_it_was_restarted(
    agent: Agent, containerd: Containerd
) -> None:
    container = agent.start()
    assert pods(agent.answer(container)) == [TRAINER.name]
    containerd.restart()
    answer = agent.answer(container)
    assert pods(answer) == [TRAINER.name]
    assert not answer.missing


def opener() -> list[str]:
    """The init container's command."""
    daemonset = one(objects(kustomize(MANIFESTS / "base")), "DaemonSet", "gpupods-nodeagent")
    (init,) = pod_template(daemonset)["spec"]["initContainers"]
    command: list[str] = init["command"]
    return command


def test_a_folder_of_root_s_is_opened_to_the_agent_without_a_capability(
    agent: Agent, podman: Podman, tmp_path: Path
) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    (folder / "lock").touch(mode=0o600)
    mount = f"--volume={folder}:/var/lib/gpupods"
    as_root = ("--user=0", "--entrypoint=", "--network=none", mount)
    opened = podman.start(building.image("nodeagent"), *opener(), options=as_root, env={})
    assert podman.run("wait", opened) == "0\n"
    container = agent.start(mount)
    assert pods(agent.answer(container)) == [TRAINER.name]
    wait_until((folder / "health.json").exists, what="the agent's memory in its folder")
    assert (folder / "health.json").stat().st_uid == 65532


def test_the_health_check_of_a_server_that_serves_succeeds(podman: Podman) -> None:
    image = building.image("nodeagent")
    container = podman.start(image, options=("--network=none",), env={})
    podman.logged(container, "node agent serves")
    podman.health(container, image)


def test_the_health_check_of_a_server_that_does_not_serve_fails(podman: Podman) -> None:
    image = building.image("controller")
    container = podman.start(
        image, "3600", options=("--network=none", "--entrypoint=sleep"), env={}
    )
    with pytest.raises(PodmanError, match=r"127\.0\.0\.1:50050: UNAVAILABLE"):
        podman.health(container, image)
