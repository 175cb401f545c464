"""The kubelet's sockets: where they are, and how a plugin is registered. I/O, no decisions."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc
import structlog

from gpupods.identity import PodRef
from nodeagent.kubelet_api import deviceplugin_pb2 as pb
from nodeagent.kubelet_api import deviceplugin_pb2_grpc as pb_grpc
from nodeagent.kubelet_api import podresources_pb2 as resources_pb
from nodeagent.kubelet_api import podresources_pb2_grpc as resources_grpc

VERSION = "v1beta1"
KUBELET = "kubelet.sock"
PREFIX = "gpupods-"
REGISTER_LIMIT_S = 15.0
"""The kubelet connects to the plugin before it answers, which it gives 10 s."""
HOLDERS_LIMIT_S = 5.0

OPTIONS = pb.DevicePluginOptions(pre_start_required=True, get_preferred_allocation_available=True)

_CHANNEL = (
    ("grpc.default_authority", "localhost"),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", 256 * 1024 * 1024),
)

log = structlog.get_logger()

Identity = tuple[int, int, int]
Holders = Mapping[tuple[str, frozenset[str]], PodRef]
"""Who has devices of which resource: one entry for each container."""


class KubeletAwayError(Exception):
    """The kubelet could not be asked. ``str()`` of it is for people to read."""


@dataclass(frozen=True, slots=True)
class KubeletFolder:
    """The folder in which the kubelet and its device plugins have their sockets."""

    path: Path

    def identity(self) -> Identity | None:
        """Of the kubelet's socket: another one is another start of it. None: there is none."""
        return identity_of(self.path / KUBELET)

    def nobody(self) -> str:
        """In words, that there is no kubelet."""
        return (
            f"there is no {KUBELET} in {self.path}: does the kubelet run, and is that its folder? "
            "--kubelet-plugins-dir names another, which has to be mounted"
        )

    def new_socket(self, resource: str) -> Path:
        """A path that nobody has used: the kubelet tells plugins of one resource apart by it."""
        name = resource.rpartition("/")[2]
        return self.path / f"{PREFIX}{name}-{secrets.token_hex(4)}.sock"

    def remove_abandoned(self, resource: str) -> None:
        """Remove the sockets that killed agents have left for ``resource``."""
        name = resource.rpartition("/")[2]
        for left in self.path.glob(f"{PREFIX}{name}-*.sock"):
            try:
                if _is_abandoned(left):
                    left.unlink(missing_ok=True)
            except OSError as error:  # it is in nobody's way
                log.warning("device_plugin.socket_left", socket=str(left), error=str(error))

    async def register(self, resource: str, endpoint: Path) -> None:
        """Tell the kubelet that ``resource`` is served at ``endpoint``.

        Raises:
            KubeletAwayError: it did not take it.
        """
        where = self.path / KUBELET
        request = pb.RegisterRequest(
            version=VERSION, endpoint=endpoint.name, resource_name=resource, options=OPTIONS
        )
        async with grpc.aio.insecure_channel(f"unix:{where}", options=_CHANNEL) as channel:
            try:
                await pb_grpc.RegistrationStub(channel).Register(request, timeout=REGISTER_LIMIT_S)
            except grpc.aio.AioRpcError as error:
                raise KubeletAwayError(
                    f"the kubelet at {where} does not take {resource}: "
                    f"{error.code().name}: {error.details()}"
                ) from error


class PodResources:
    """The kubelet's own account of which container has which devices.

    Args:
        path: Its socket, which is in a folder of its own; None: it is not to be asked.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def is_there(self) -> bool:
        """Whether there is such a socket."""
        return self.path is not None and identity_of(self.path) is not None

    async def holders(self) -> Holders:
        """Who has devices now; init containers are not told.

        Raises:
            KubeletAwayError: it did not answer.
        """
        async with grpc.aio.insecure_channel(f"unix:{self.path}", options=_CHANNEL) as channel:
            stub = resources_grpc.PodResourcesListerStub(channel)
            try:
                answer = await stub.List(
                    resources_pb.ListPodResourcesRequest(), timeout=HOLDERS_LIMIT_S
                )
            except grpc.aio.AioRpcError as error:
                raise KubeletAwayError(
                    f"the kubelet at {self.path} does not say which pod has which devices: "
                    f"{error.code().name}: {error.details()}"
                ) from error
        return _holders(answer)


def _holders(answer: resources_pb.ListPodResourcesResponse) -> Holders:
    """The kubelet lists one container's devices of one resource in one entry for each NUMA node."""
    found: dict[tuple[str, frozenset[str]], PodRef] = {}
    for pod in answer.pod_resources:
        for container in pod.containers:
            held: dict[str, set[str]] = {}
            for devices in container.devices:
                held.setdefault(devices.resource_name, set()).update(devices.device_ids)
            ref = PodRef(pod.namespace, pod.name)
            found |= {(resource, frozenset(ids)): ref for resource, ids in held.items()}
    return found


def identity_of(path: Path) -> Identity | None:
    """What tells one file at ``path`` from a later one; None: there is none, or none to be seen."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def remove(path: Path) -> None:
    """Remove a socket; the kubelet or the server itself may have done so."""
    path.unlink(missing_ok=True)


def _is_abandoned(path: Path) -> bool:
    """Whether nobody listens there. One that is too busy to be connected to (EAGAIN) does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
        return probe.connect_ex(str(path)) == errno.ECONNREFUSED
