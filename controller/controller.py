"""A controller from its access to the API server up: caches, channels, gRPC and HTTP.

`__main__` and the simulator both run it; settings decide which cluster it follows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import grpc
import structlog

from controller.cache.cluster import ClusterCache
from controller.cache.gpus import GpuIndex
from controller.cache.informers import Informers
from controller.channels import CHANNEL_OPTIONS, NodeChannels, agent_target
from controller.diagnosis.nodes import AgentsDiagnosis
from controller.diagnosis.rights import needed_rights
from controller.diagnosis.service import ClusterDiagnosis
from controller.eviction.switch import evictor_of
from controller.extender.assembly import SchedulerExtender
from controller.gpus.asking import NodeAsker
from controller.gpus.service import ClusterGpuHealth
from controller.http.server import HttpServer
from controller.leader.candidate import Candidate, lease_namespace
from controller.readiness import SYNCED, Readiness
from controller.service import ClusterGpuPods
from controller.settings import ControllerSettings
from gpupods.addresses import HostPort
from gpupods.kube.access import KubeAccess
from gpupods.kube.api import KubeApi
from gpupods.kube.status import ReflectorStatus
from gpupods.serving import GrpcServer
from gpupods.v1alpha1 import diagnosis_pb2, diagnosis_pb2_grpc, health_pb2, health_pb2_grpc
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc

log = structlog.get_logger()

SERVICES = (
    pb.DESCRIPTOR.services_by_name["GpuPodsService"],
    diagnosis_pb2.DESCRIPTOR.services_by_name["DiagnosisService"],
    health_pb2.DESCRIPTOR.services_by_name["GpuHealthService"],
)

MAX_REQUEST_BYTES = 4 * 1024 * 1024
"""A pod's id is short. Who sends more by the hundred is refused before memory runs out."""

STALE_AFTER_S = 10.0
"""A watch that is renewed is away for a moment; longer than this is worth telling a caller."""


@dataclass(frozen=True, slots=True)
class ControllerAddresses:
    """Where a controller listens, with the ports that were found if 0 was asked for."""

    grpc: HostPort
    http: HostPort


class Controller:
    """Follows one cluster and answers for it."""

    def __init__(self, settings: ControllerSettings, access: KubeAccess) -> None:
        self._settings = settings
        self.cache = ClusterCache(GpuIndex(hold_s=settings.scheduler_hold))
        self.informers = Informers(access, self.cache)
        self._api = KubeApi(access)
        self._channels = NodeChannels(self.cache, settings.agent_port)
        self._asker = NodeAsker(self.cache, self._channels)
        self._grpc = GrpcServer(
            [each.full_name for each in SERVICES], [SYNCED], max_request_bytes=MAX_REQUEST_BYTES
        )
        self._readiness = Readiness(self.cache, self.informers, self._grpc)
        self._candidate: Candidate | None = None
        if settings.leader_elect:
            self._candidate = Candidate(settings, access, self._leadership_changed)
        self._readiness.candidate = self._candidate
        self._extender = SchedulerExtender(
            settings,
            self.cache,
            self._api,
            self._candidate,
            self._staleness,
            catch_up=self.informers.renew,
        )
        self._evictor = evictor_of(
            settings,
            cache=self.cache,
            asker=self._asker,
            api=self._api,
            candidate=self._candidate,
            staleness=self._staleness,
        )
        self._own_channel: grpc.aio.Channel | None = None
        self._http: HttpServer | None = None
        self._ready_task: asyncio.Task[None] | None = None

    async def start(self) -> ControllerAddresses:
        """Listen, and begin to follow the cluster; ready once it is known and this replica leads.

        Raises:
            OSError: an address cannot be listened on; nothing is left running then.
        """
        try:
            return await self._start()
        except OSError:
            await self.stop()
            raise

    async def _start(self) -> ControllerAddresses:
        self._register()
        grpc_at = await self._grpc.start(self._settings.grpc_listen)
        self._own_channel = grpc.aio.insecure_channel(own_target(grpc_at), options=CHANNEL_OPTIONS)
        self._http = HttpServer(
            SERVICES,
            self._own_channel,
            self._settings.request_limit,
            ready=self.ready,
            synced=self._readiness.synced,
            posts=self._extender.posts() if self._settings.scheduler_extender else None,
        )
        http_at = await self._http.start(self._settings.http_listen)
        await self.informers.start()
        self._ready_task = asyncio.create_task(self._readiness.run(), name="readiness")
        self._ready_task.add_done_callback(_complain)
        if self._evictor is not None:
            await self._evictor.start()
        log.info("controller listens", grpc=str(grpc_at), http=str(http_at))
        return ControllerAddresses(grpc_at, http_at)

    def _register(self) -> None:
        settings = self._settings
        service = ClusterGpuPods(
            cache=self.cache,
            channels=self._channels,
            staleness=self._staleness,
            request_limit_s=settings.request_limit,
        )
        pb_grpc.add_GpuPodsServiceServicer_to_server(service, self._grpc.registry)
        diagnosis = ClusterDiagnosis(
            cache=self.cache,
            informers=self.informers,
            candidate=self._candidate,
            api=self._api,
            rights=needed_rights(settings, lease_namespace(settings)),
            agents=AgentsDiagnosis(self._channels, settings.agent_port),
            staleness=self._staleness,
            request_limit_s=settings.request_limit,
        )
        diagnosis_pb2_grpc.add_DiagnosisServiceServicer_to_server(diagnosis, self._grpc.registry)
        gpus = ClusterGpuHealth(
            cache=self.cache,
            asker=self._asker,
            staleness=self._staleness,
            request_limit_s=settings.request_limit,
        )
        health_pb2_grpc.add_GpuHealthServiceServicer_to_server(gpus, self._grpc.registry)

    def _leadership_changed(self) -> None:
        if self._settings.scheduler_extender:
            self._extender.leadership_changed()
        self._readiness.changed()

    def _staleness(self) -> str:
        return staleness(self.informers.status(), time.time())

    def ready(self) -> tuple[bool, str]:
        """Whether pods and nodes are known and this replica leads, and if not, why."""
        return self._readiness.ready()

    async def stop(self) -> None:
        """Let running calls end within the grace that is set, then close everything."""
        if self._ready_task is not None:  # awaited: it may be about to begin with the election
            self._ready_task.cancel()
            await asyncio.gather(self._ready_task, return_exceptions=True)
        if self._evictor is not None:
            await self._evictor.stop()
        if self._candidate is not None:
            await self._candidate.stop()
        if self._http is not None:
            await self._http.stop(self._settings.stop_grace)
        await self._grpc.stop(self._settings.stop_grace)
        if self._own_channel is not None:
            await self._own_channel.close(None)
        await self._extender.close()
        await self._channels.close()
        await self.informers.stop()
        await self._api.close()
        if self._ready_task is not None:  # else it has not begun to serve
            log.info("controller stopped")


def _complain(readiness: asyncio.Task[None]) -> None:
    """It goes on for ever, unless something is wrong with it."""
    if not readiness.cancelled() and (error := readiness.exception()) is not None:
        log.error("readiness is told no more", error=repr(error), exc_info=error)


def own_target(listening: HostPort) -> str:
    """How a server reaches itself: over loopback if it listens on every address."""
    host = "127.0.0.1" if listening.host in {"::", "0.0.0.0"} else listening.host
    return agent_target(host, listening.port)


def staleness(reflectors: Sequence[ReflectorStatus], now: float) -> str:
    """Since when changes of the cluster may have been missed and why; "" if none were."""
    late = [
        f"{reflector.kind} as of {now - reflector.stale_since:.0f} s ago ({reflector.last_error})"
        for reflector in reflectors
        if reflector.stale_since is not None and now - reflector.stale_since > STALE_AFTER_S
    ]
    if not late:
        return ""
    return f"the API server is not followed at present: {', '.join(late)}"
