"""One resource's place with the kubelet: served on a socket, registered, and again when need be.

The kubelet removes all sockets when it starts and forgets its plugins. It drops a plugin whose
stream has ended. Both are noticed at once, by looking at two files and at who watches.
"""

from __future__ import annotations

import asyncio
import math
import time
from pathlib import Path

import grpc
import structlog

from gpupods.kube.backoff import Backoff
from nodeagent.deviceplugin.allocator import Allocator
from nodeagent.deviceplugin.servicer import DeviceList, DevicePluginServicer
from nodeagent.deviceplugin.sockets import Identity, KubeletAwayError, KubeletFolder, remove
from nodeagent.kubelet_api import deviceplugin_pb2_grpc as pb_grpc

LOOK_EVERY_S = 0.3
"""A pod that comes between the kubelet's start and our registration is turned away."""
LEAVE_S = 8.0
"""For calls that are running when another socket takes the place of the one they came by."""
UNWATCHED_S = 5.0
"""The kubelet asks for the list right after it has taken a registration."""

SERVER_OPTIONS = (
    # The kubelet names all devices that are free.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.so_reuseport", 0),
)

log = structlog.get_logger()


class Endpoint:
    """Serves ``resource`` to the kubelet of ``folder`` from `run` on, once there is a list.

    Args:
        look_every_s: How often it is looked whether the kubelet was started again.
        unwatched_s: How long the kubelet may be without a stream before it is told anew.

    Attributes:
        attempts: How often the kubelet was to be told.
        registrations: How often it has taken it.
    """

    def __init__(
        self,
        resource: str,
        folder: KubeletFolder,
        allocator: Allocator,
        *,
        look_every_s: float = LOOK_EVERY_S,
        unwatched_s: float = UNWATCHED_S,
    ) -> None:
        self.resource = resource
        self.devices = DeviceList()
        self.attempts = 0
        self.registrations = 0
        self._folder = folder
        self._allocator = allocator
        self._look_every_s = look_every_s
        self._unwatched_s = unwatched_s
        self._server: grpc.aio.Server | None = None
        self._socket: Path | None = None
        self._registered_at: Identity | None = None
        self._unwatched_since: float | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._told = ""

    @property
    def registered(self) -> bool:
        """Whether the kubelet has taken it, and follows the list."""
        return self._server is not None and self.devices.watched > 0

    @property
    def problem(self) -> str:
        """Why it is not registered; "" where that is not known to be a problem."""
        return self._told

    async def run(self) -> None:
        """Until cancelled. After failures it is tried less often, until the kubelet is another."""
        pauses = Backoff(first_s=self._look_every_s)
        failed_with: Identity | None = None
        again_at = -math.inf
        await asyncio.to_thread(self._folder.remove_abandoned, self.resource)
        while True:
            kubelet = self._folder.identity()
            if kubelet != failed_with:
                pauses.reset()
                again_at = -math.inf
            if time.monotonic() >= again_at:
                if await self._is_well():
                    failed_with = None
                else:
                    failed_with = kubelet
                    again_at = time.monotonic() + pauses.next_delay_s()
            await asyncio.sleep(self._look_every_s)

    async def _is_well(self) -> bool:
        """Register if need be; whether nothing has failed."""
        try:
            if self._is_wanting():
                await self._register()
        except (KubeletAwayError, OSError) as error:
            self._tell(str(error))
            return False
        except Exception as error:
            if self._tell(f"{type(error).__name__}: {error}"):
                log.exception("a failure that nobody foresaw: it is tried again")
            return False
        return True

    async def stop(self) -> None:
        """Serve no more, and leave no socket."""
        self._leave(0.0)
        if self._leaving:
            await asyncio.wait(self._leaving)

    def _leave(self, grace_s: float) -> None:
        """Give up the socket; calls that are running may end within ``grace_s`` seconds."""
        for task in self._leaving:
            task.cancel()
        if self._server is not None and self._socket is not None:
            task = asyncio.create_task(_end(self._server, self._socket, grace_s))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
        self._server = self._socket = self._registered_at = None

    def _is_wanting(self) -> bool:
        """Whether the kubelet is there and has to be told of us."""
        if self.devices.encoded is None:
            return False
        kubelet = self._folder.identity()
        if kubelet is None:
            self._tell(self._folder.nobody())
            return False
        if kubelet != self._registered_at or self._socket is None or not self._socket.exists():
            return True
        if self.devices.watched:
            self._unwatched_since = None
            return False
        now = time.monotonic()
        if self._unwatched_since is None:
            self._unwatched_since = now
        return now - self._unwatched_since >= self._unwatched_s

    async def _register(self) -> None:
        """On a new socket; only then is the old one given up.

        Raises:
            KubeletAwayError: the kubelet did not take it.
            OSError: nothing can be served there.
        """
        self.attempts += 1
        kubelet = self._folder.identity()
        server, path = await self._serve()
        try:
            await self._folder.register(self.resource, path)
        except BaseException:
            await _end(server, path, 0.0)
            raise
        self._leave(LEAVE_S)
        self._server, self._socket, self._registered_at = server, path, kubelet
        self._unwatched_since = None
        self._told = ""
        self.registrations += 1
        log.info("device_plugin.registered", resource=self.resource, socket=str(path))

    def _tell(self, problem: str) -> bool:
        """Once. Whether it was news."""
        news = problem != self._told
        if news:
            self._told = problem
            log.warning("device_plugin.not_registered", resource=self.resource, error=problem)
        return news

    async def _serve(self) -> tuple[grpc.aio.Server, Path]:
        path = self._folder.new_socket(self.resource)
        server = grpc.aio.server(options=SERVER_OPTIONS)
        servicer = DevicePluginServicer(self.resource, self.devices, self._allocator)
        pb_grpc.add_DevicePluginServicer_to_server(servicer, server)
        try:
            server.add_insecure_port(f"unix:{path}")
        except RuntimeError as error:
            raise OSError(
                f"no socket can be made in {self._folder.path}: is the folder mounted, and is this "
                "root? manifests/components/device-plugin has what it takes"
            ) from error
        await server.start()
        return server, path


async def _end(server: grpc.aio.Server, path: Path, grace_s: float) -> None:
    """Serve no more, at once where this is cancelled."""
    try:
        await server.stop(grace_s)
    except asyncio.CancelledError:
        await server.stop(None)
        raise
    finally:
        remove(path)
