"""The scene of the request path's figures: a controller alone on one core, all else on others.

The controller is the console script that an image would start. It follows a simulated Kubernetes
API of one busy node; the node's agent is a program that answers at once with what the real one
would have said.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from tests.bench import loading
from tests.bench.loading import Server
from tests.bench.one_node_cluster import ANSWER, GPUS, KUBECONFIG, ROWS
from tests.realparts.go.gateway import build as gateway
from tests.realparts.processes import Supervisor

CONTROLLER = Path(sys.executable).with_name("gpupods-controller")
_LISTENS = re.compile(r'"grpc": ?"([^"]+)", ?"http": ?"([^"]+)"')
_READY = re.compile(r'"event": ?"ready"')


@dataclass(frozen=True)
class RequestPath:
    """All that listens, and how it is asked."""

    load: Path
    """The load generator."""
    grpc: Server
    """The controller's gRPC port."""
    http: Server
    """The controller's HTTP port."""
    gateway: Server
    """The real grpc-gateway before the controller's gRPC port, on the controller's core."""
    bare: Server
    """A Python gRPC server that does nothing, on the controller's core."""
    agent: Server
    request: Path
    """The bytes of a gRPC request."""
    target: str
    """The same question as the path and query of a GET."""


def cores() -> tuple[set[int], set[int]]:
    """The core that is measured, and the others.

    Raises:
        RuntimeError: there is only one.
    """
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        raise RuntimeError("this needs two cores: one to measure, one to load it from")
    return {first}, set(others)


@contextmanager
def request_path() -> Iterator[RequestPath]:
    """Start everything, checked to answer rightly. This process stays off the measured core."""
    measured, loaders = cores()
    os.sched_setaffinity(0, loaders)
    load = loading.build()
    with ExitStack() as stack:
        supervisor = stack.enter_context(Supervisor())
        folder = supervisor.folder
        pod = stack.enter_context(_cluster(folder))
        request = folder / "request.bin"
        request.write_bytes(pb.GetGpuPodsRequest(worker_id=pod).SerializeToString())
        agent = stack.enter_context(loading.answering(load, folder / ANSWER))
        by_grpc, by_http = _controller(supervisor, agent, measured)
        with loading.on_cores(measured):
            before = [str(gateway.ensure()), "--endpoint", by_grpc.at]
            gateway_ = stack.enter_context(loading.printing_address(before))
            idle = [sys.executable, "-m", "tests.bench.bare_server", str(folder / ANSWER)]
            bare_ = stack.enter_context(loading.printing_address(idle))
        target = f"/gpu-pods?worker_id={pod}"
        path = RequestPath(load, by_grpc, by_http, gateway_, bare_, agent, request, target)
        check(path)
        yield path


@contextmanager
def _cluster(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.bench.one_node_cluster", str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as cluster:
        assert cluster.stdout is not None
        pod = cluster.stdout.readline().strip()
        if not pod:
            raise RuntimeError("the simulated cluster has not started, see above")
        yield pod


def _controller(supervisor: Supervisor, agent: Server, core: set[int]) -> tuple[Server, Server]:
    """Its gRPC and its HTTP port, once it knows the cluster."""
    log = supervisor.folder / "gpupods-controller.log"
    flags = [f"--kubeconfig={supervisor.folder / KUBECONFIG}", "--log-format=json"]
    flags += [f"--agent-port={agent.at.rpartition(':')[2]}"]
    flags += ["--grpc-listen=127.0.0.1:0", "--http-listen=127.0.0.1:0"]
    with loading.on_cores(core):
        child = supervisor.start(
            "gpupods-controller",
            [CONTROLLER, *flags],
            ready=lambda: _READY.search(log.read_text()) is not None,
        )
    found = _LISTENS.search(log.read_text())
    assert found is not None
    return Server(found.group(1), child.pid), Server(found.group(2), child.pid)


def check(path: RequestPath) -> None:
    """Refuse to measure answers that are not whole."""
    request = pb.GetGpuPodsRequest.FromString(path.request.read_bytes())
    for server in (path.grpc, path.bare):
        with grpc.insecure_channel(server.at) as channel:
            answer = pb_grpc.GpuPodsServiceStub(channel).GetGpuPods(request, timeout=30)
        rows = [row for pods in answer.GpuPods.values() for row in pods.pidPods]
        assert not answer.missing, answer.missing
        assert (len(rows), len(answer.GpuInfos)) == (ROWS, GPUS)
        assert all(row.owner.kind for row in rows) == (server is path.grpc)
    bodies = []
    for server in (path.http, path.gateway):
        with urllib.request.urlopen(f"http://{server.at}{path.target}", timeout=30) as response:
            bodies.append(json.load(response))
    assert bodies[0] == bodies[1], "the controller and grpc-gateway answer differently"
