"""containerd's services over gRPC on a unix socket, answering for a simulated node.

With the daemon's own habits, as seen on containerd 1.6: the filter of Tasks.List is ignored, a
task is named by `id`, a stuck shim's task is left out after a while, and ListPids waits for a
stuck shim for ever.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from nodeagent.containerd_api import (
    containers_pb2,
    containers_pb2_grpc,
    events_pb2,
    events_pb2_grpc,
    tasks_pb2,
    tasks_pb2_grpc,
)
from simulator.kinds import ContainerKind, ContainerState, RuntimeFault
from simulator.model import SimContainer, SimNode

POLL_S = 0.005
SHIM_LIMIT_S = 0.05
"""What Tasks.List waits for one shim: 2 s in containerd."""

Context = grpc.aio.ServicerContext[Any, Any]


class ContainerdServices:
    """A daemon that can be stopped and started again on the same socket."""

    def __init__(self, node: SimNode, socket: Path) -> None:
        self.node = node
        self.socket = socket
        self.calls: Counter[str] = Counter()
        self.subscriptions = 0
        self._server: grpc.aio.Server | None = None

    async def start(self, *, services: bool = True) -> None:
        """Listen; without ``services``, as a program that speaks gRPC and is not containerd."""
        self._server = grpc.aio.server()
        if services:
            containers_pb2_grpc.add_ContainersServicer_to_server(_Containers(self), self._server)
            tasks_pb2_grpc.add_TasksServicer_to_server(_Tasks(self), self._server)
            events_pb2_grpc.add_EventsServicer_to_server(_Events(self), self._server)
        self._server.add_insecure_port(f"unix:{self.socket}")
        await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(grace=None)
            self._server = None

    async def called(self, name: str, context: Context) -> list[SimContainer]:
        """Count the call; the containers of the namespace that it names."""
        self.calls[name] += 1
        await until(lambda: self.node.runtime_fault is not RuntimeFault.HANGS)
        if ("containerd-namespace", "k8s.io") not in (context.invocation_metadata() or ()):
            return []
        containers = self.node.containers.values()
        return [each for each in containers if each.kind is not ContainerKind.FOREIGN]


class _Containers(containers_pb2_grpc.ContainersServicer):
    def __init__(self, daemon: ContainerdServices) -> None:
        self._daemon = daemon

    async def List(  # noqa: N802
        self, request: containers_pb2.ListContainersRequest, context: Context
    ) -> containers_pb2.ListContainersResponse:
        containers = await self._daemon.called("Containers.List", context)
        return containers_pb2.ListContainersResponse(
            containers=[
                containers_pb2.Container(id=each.id, labels=_labels(each)) for each in containers
            ]
        )


class _Tasks(tasks_pb2_grpc.TasksServicer):
    def __init__(self, daemon: ContainerdServices) -> None:
        self._daemon = daemon

    async def List(  # noqa: N802
        self, request: tasks_pb2.ListTasksRequest, context: Context
    ) -> tasks_pb2.ListTasksResponse:
        tasks = []
        for each in await self._daemon.called("Tasks.List", context):
            if each.shim_stuck:
                await asyncio.sleep(SHIM_LIMIT_S)
            elif each.state is not ContainerState.WAITING:
                running = each.state is ContainerState.RUNNING
                status = tasks_pb2.RUNNING if running else tasks_pb2.STOPPED
                tasks.append(tasks_pb2.Process(id=each.id, status=status))
        return tasks_pb2.ListTasksResponse(tasks=tasks)

    async def ListPids(  # noqa: N802
        self, request: tasks_pb2.ListPidsRequest, context: Context
    ) -> tasks_pb2.ListPidsResponse:
        for each in await self._daemon.called("Tasks.ListPids", context):
            if each.id == request.container_id and each.state is not ContainerState.WAITING:
                await until(partial(_answers, each))
                alive = [process.pid for process in each.processes if not process.exited]
                return tasks_pb2.ListPidsResponse(
                    processes=[tasks_pb2.ProcessInfo(pid=pid) for pid in alive]
                )
        await context.abort(grpc.StatusCode.NOT_FOUND, f"task {request.container_id} not found")
        raise AssertionError("abort returned")


class _Events(events_pb2_grpc.EventsServicer):
    def __init__(self, daemon: ContainerdServices) -> None:
        self._daemon = daemon

    async def Subscribe(  # noqa: N802
        self, request: events_pb2.SubscribeRequest, context: Context
    ) -> AsyncIterator[events_pb2.Envelope]:
        self._daemon.subscriptions += 1
        seen = self._daemon.node.generation
        while True:
            await until(partial(_has_changed, self._daemon.node, seen))
            seen = self._daemon.node.generation
            yield events_pb2.Envelope(namespace="k8s.io", topic="/containers/create")


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - the simulated node tells nobody
        await asyncio.sleep(POLL_S)


def _answers(container: SimContainer) -> bool:
    return not container.shim_stuck


def _has_changed(node: SimNode, seen: int) -> bool:
    return node.generation != seen


def _labels(container: SimContainer) -> dict[str, str]:
    if container.pod is None:
        return {}
    sandbox = container.kind is ContainerKind.SANDBOX
    labels = {
        "io.cri-containerd.kind": "sandbox" if sandbox else "container",
        "io.kubernetes.pod.name": container.pod.name,
        "io.kubernetes.pod.namespace": container.pod.namespace,
        "io.kubernetes.pod.uid": container.pod.runtime_uid,
    }
    return labels if sandbox else {**labels, "io.kubernetes.container.name": container.name}
