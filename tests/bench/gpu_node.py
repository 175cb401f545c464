"""The scene of the node agent's figures: real containers, a fake driver, the agent's own program.

Containers are containerd's, the GPU processes are real processes in them, and the driver is the
fake library; the agent runs as the console script that an image would start.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from tests.fakedriver.driver import FakeDriver
from tests.fakedriver.scenario import GIB, Gpu, Process, Scenario
from tests.realparts import parts
from tests.realparts.containerd import Container, Containerd, Request
from tests.realparts.objects import PodIdentity
from tests.realparts.processes import Child, Supervisor

NODE = "node-1"
GPUS = 8
PROCESSES = 32
AGENT = Path(sys.executable).with_name("gpupods-nodeagent")
_LISTENS = re.compile(r'"grpc": ?"([^"]+)"')


@dataclass(frozen=True)
class GpuNode:
    """A node with an agent on it."""

    agent: Child
    address: str
    """Of the agent, HOST:PORT."""
    containerd: Containerd
    driver: FakeDriver
    containers: Sequence[Container]

    @property
    def pod_map(self) -> str:
        """What the controller would hand the agent: {containerID: pod name}, of all containers."""
        return json.dumps({container.id: container.pod.name for container in self.containers})


@contextmanager
def gpu_node(containers: int) -> Iterator[GpuNode]:
    """A node with that many containers; 32 of them have a process on one of 8 GPUs."""
    with ExitStack() as stack:
        containerd = stack.enter_context(Containerd(parts.ensure()))
        running = containerd.run_containers(_requests(containers))
        supervisor = stack.enter_context(Supervisor())
        driver = FakeDriver(supervisor.folder / "driver", Scenario(_gpus(running)))
        agent, address = _start_agent(supervisor, driver, containerd)
        yield GpuNode(agent, address, containerd, driver, running)


def _requests(count: int) -> list[Request]:
    """Pods of two containers each, in cgroups that no other run has."""
    pods = [
        PodIdentity("team", f"train-{number}", str(uuid.uuid4()))
        for number in range((count + 1) // 2)
    ]
    return [Request(pods[number // 2], ("main", "side")[number % 2]) for number in range(count)]


def _gpus(containers: Sequence[Container]) -> tuple[Gpu, ...]:
    """Each container's last process, spread over the GPUs; not more than there are containers."""
    pids = [container.pids[-1] for container in containers[:PROCESSES]]
    return tuple(
        Gpu.number(
            index,
            *(Process(pid, 4 * GIB) for pid in pids[index::GPUS]),
            memory_used=16 * GIB,
            utilization=50,
        )
        for index in range(GPUS)
    )


def _start_agent(
    supervisor: Supervisor, driver: FakeDriver, containerd: Containerd
) -> tuple[Child, str]:
    log = supervisor.folder / "gpupods-nodeagent.log"
    flags = ["--grpc-listen=127.0.0.1:0", f"--node-name={NODE}", "--log-format=json"]
    flags.append(f"--runtime-socket={containerd.socket}")
    flags.append(f"--state-dir={supervisor.folder / 'state'}")
    agent = supervisor.start(
        "gpupods-nodeagent",
        [AGENT, *flags],
        ready=lambda: _LISTENS.search(log.read_text()) is not None,
        env=driver.environment({}),
    )
    found = _LISTENS.search(log.read_text())
    assert found is not None
    return agent, found.group(1)


def check_answer(response: pb.GetGpuPodsResponse) -> None:
    """Refuse to measure answers that are not whole."""
    rows = [row for pods in response.GpuPods.values() for row in pods.pidPods]
    assert not response.missing, response.missing
    assert len(response.GpuInfos) == GPUS, len(response.GpuInfos)
    assert len(rows) == PROCESSES, len(rows)
    assert all(row.pod and row.processName and row.container_id for row in rows)


def ask_once(node: GpuNode) -> pb.GetGpuPodsResponse:
    """One answer, checked."""
    with grpc.insecure_channel(node.address) as channel:
        stub = pb_grpc.GpuPodsServiceStub(channel)
        response: pb.GetGpuPodsResponse = stub.GetGpuPods(
            pb.GetGpuPodsRequest(worker_id=node.pod_map), timeout=30
        )
    check_answer(response)
    return response
