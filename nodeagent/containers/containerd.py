"""containerd behind `nodeagent.containers.runtime`, over its own gRPC services.

Spoken with the stubs of protos/nodeagent/containerd_api. When the set of containers changes is
followed in `nodeagent.containers.changes`; what an answer is good for is decided elsewhere.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Mapping
from pathlib import Path

import grpc

from gpupods.identity import ContainerId, Pid
from nodeagent.containerd_api import (
    containers_pb2,
    containers_pb2_grpc,
    tasks_pb2,
    tasks_pb2_grpc,
)
from nodeagent.containers.changes import ContainerChanges
from nodeagent.containers.runtime import RuntimeContainer, RuntimeUnavailableError

CHANNEL_OPTIONS = (
    # Without it the :authority would be the socket's path, which Go's HTTP/2 refuses.
    ("grpc.default_authority", "localhost"),
    # Each container comes with its whole OCI description: 200 of them pass the default of 4 MiB.
    ("grpc.max_receive_message_length", 256 * 1024 * 1024),
    # A daemon that is started again is found again soon; gRPC's own waits grow to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.use_local_subchannel_pool", 1),
)

_WHAT_TO_TRY = {
    errno.ENOENT: (
        "there is no such socket; --runtime-socket names another "
        "(k3s: /run/k3s/containerd/containerd.sock), or none ('') to rely on cgroups alone"
    ),
    errno.EACCES: (
        "permission denied; the agent needs to run as root and to have the socket mounted"
    ),
    errno.ECONNREFUSED: "nobody listens there; is containerd running?",
}


class Containerd:
    """One namespace of the containerd that listens on the unix socket ``socket_path``.

    Connects when first asked, and again by itself whenever the daemon comes back.
    """

    def __init__(self, socket_path: str | Path, namespace: str = "k8s.io") -> None:
        self._socket = str(socket_path).removeprefix("unix://")
        self._metadata = (("containerd-namespace", namespace),)
        self._namespace = namespace
        self._channel: grpc.aio.Channel | None = None
        self._changes: ContainerChanges | None = None

    def __str__(self) -> str:
        """For messages."""
        return f"containerd at {self._socket}"

    async def containers(self, timeout_s: float) -> Mapping[ContainerId, RuntimeContainer]:
        """Every container of the namespace, by id, as its labels describe it.

        Raises:
            RuntimeUnavailableError: it did not answer.
        """
        stub = containers_pb2_grpc.ContainersStub(self._connected())
        call = stub.List(
            containers_pb2.ListContainersRequest(), metadata=self._metadata, timeout=timeout_s
        )
        try:
            answer = await call
        except grpc.aio.AioRpcError as error:
            raise self._unavailable("listing containers", error, timeout_s) from error
        return {ContainerId(each.id): describe(each) for each in answer.containers}

    async def running(self, timeout_s: float) -> tuple[ContainerId, ...]:
        """The containers whose task runs.

        containerd asks one shim after another, 2 s each at most, and leaves out those that do
        not answer. It ignores the filter that its API takes, so the state is looked at here.

        Raises:
            RuntimeUnavailableError: it did not answer.
        """
        stub = tasks_pb2_grpc.TasksStub(self._connected())
        call = stub.List(tasks_pb2.ListTasksRequest(), metadata=self._metadata, timeout=timeout_s)
        try:
            answer = await call
        except grpc.aio.AioRpcError as error:
            raise self._unavailable("listing tasks", error, timeout_s) from error
        # `id` is the container's; `container_id` is empty in this answer.
        return tuple(
            ContainerId(task.id) for task in answer.tasks if task.status == tasks_pb2.RUNNING
        )

    async def pids(self, container: ContainerId, timeout_s: float) -> tuple[Pid, ...]:
        """The processes in ``container``, nested ones too; none if it has no task (any more).

        Raises:
            RuntimeUnavailableError: it did not answer; for one container, its shim may be stuck.
        """
        stub = tasks_pb2_grpc.TasksStub(self._connected())
        request = tasks_pb2.ListPidsRequest(container_id=container)
        call = stub.ListPids(request, metadata=self._metadata, timeout=timeout_s)
        try:
            answer = await call
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                return ()
            what = f"listing the processes of container {container}"
            raise self._unavailable(what, error, timeout_s) from error
        return tuple(Pid(process.pid) for process in answer.processes)

    def generation(self) -> int | None:
        """A number that changes whenever a container is made, changed or deleted.

        None while changes are not heard of: before the first question, shortly after it, and
        while the daemon is away.
        """
        return None if self._changes is None else self._changes.generation()

    async def close(self) -> None:
        """Give back what is held."""
        if self._changes is not None:
            await self._changes.stop()
        if self._channel is not None:
            await self._channel.close(grace=None)

    def _connected(self) -> grpc.aio.Channel:
        """The channel, made when first needed: it belongs to the loop that is running then."""
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(
                f"unix:{self._socket}", options=CHANNEL_OPTIONS
            )
            self._changes = ContainerChanges(self._channel, self._namespace)
            self._changes.start()
        return self._channel

    def _unavailable(
        self, what: str, error: grpc.aio.AioRpcError, timeout_s: float
    ) -> RuntimeUnavailableError:
        return RuntimeUnavailableError(f"{self}, {what}: {_reason(self._socket, error, timeout_s)}")


def describe(container: containers_pb2.Container) -> RuntimeContainer:
    """A container as the labels that the CRI plugin gives it say; empty where one is absent."""
    labels = container.labels
    return RuntimeContainer(
        id=ContainerId(container.id),
        pod=labels.get("io.kubernetes.pod.name", ""),
        namespace=labels.get("io.kubernetes.pod.namespace", ""),
        pod_uid=labels.get("io.kubernetes.pod.uid", ""),
        name=labels.get("io.kubernetes.container.name", ""),
        is_sandbox=labels.get("io.cri-containerd.kind", "") == "sandbox",
    )


def _reason(socket_path: str, error: grpc.aio.AioRpcError, timeout_s: float) -> str:
    """Why a call failed, for a person."""
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"no answer in {timeout_s:.3g} s"
    if error.code() is grpc.StatusCode.UNAVAILABLE:
        problem = connection_problem(socket_path)
        return problem or f"the connection was lost ({error.details()}); it is being made again"
    return f"{error.code().name}: {error.details()}"


def connection_problem(socket_path: str) -> str | None:
    """Why nobody can be reached at a unix socket, and what to try; None if somebody can."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
        try:
            failed = probe.connect_ex(socket_path)
        except (OSError, ValueError) as error:  # a path too long, or with a zero byte
            return f"this is not the path of a socket: {error}"
    if failed in (0, errno.EAGAIN):
        return None
    return _WHAT_TO_TRY.get(failed, os.strerror(failed))
