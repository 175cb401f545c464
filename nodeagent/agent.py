"""A node agent from its edges up: what `__main__` runs on real edges, the simulator on its own."""

from __future__ import annotations

import asyncio

import structlog

from gpupods.addresses import HostPort
from gpupods.serving import GrpcServer
from gpupods.v1alpha1 import diagnosis_pb2, diagnosis_pb2_grpc
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from nodeagent.containers.identity import Identifier
from nodeagent.deviceplugin.status import Offering
from nodeagent.diagnosis.examine import Surroundings
from nodeagent.diagnosis.service import NodeDiagnosis
from nodeagent.gpus.sample import GpuSource
from nodeagent.gpus.sharing import SharedSampler
from nodeagent.health.monitor import HealthMonitor
from nodeagent.pods_on_gpus import PodsOnGpus
from nodeagent.reporting.status import Reporting
from nodeagent.service import NodeGpuPods
from nodeagent.settings import NodeAgentSettings

log = structlog.get_logger()

GATHER_S = 0.003
"""Enough for ten callers to read their answers and ask again; less than they would notice."""

SERVICE = pb.DESCRIPTOR.services_by_name["GpuPodsService"].full_name
DIAGNOSIS = diagnosis_pb2.DESCRIPTOR.services_by_name["DiagnosisService"].full_name


class NodeAgent:
    """Serves GetGpuPods for one node. The edges are given, and stay the giver's to close."""

    def __init__(
        self,
        settings: NodeAgentSettings,
        gpus: GpuSource,
        identifier: Identifier,
        surroundings: Surroundings,
        health: HealthMonitor | None = None,
        *,
        reporting: Reporting | None = None,
        pods_on_gpus: PodsOnGpus | None = None,
        device_plugin: Offering | None = None,
    ) -> None:
        self._settings = settings
        self._gpus = gpus
        self._identifier = identifier
        self._surroundings = surroundings
        self._health = health
        self._reporting = reporting
        self._pods_on_gpus = pods_on_gpus
        self._device_plugin = device_plugin
        self._looking: asyncio.Task[None] | None = None
        self._server: GrpcServer | None = None

    async def start(self) -> HostPort:
        """Listen and serve.

        Returns: where it listens.

        Raises:
            OSError: it cannot listen there.
        """
        server = GrpcServer([SERVICE, DIAGNOSIS])
        self._register(server)
        listening = await server.start(self._settings.grpc_listen)
        self._server = server
        if self._health is not None:
            await self._health.start()
        if self._pods_on_gpus is not None:
            self._looking = asyncio.create_task(self._pods_on_gpus.run())
        if self._reporting is not None:
            await self._reporting.start()
        await server.set_serving(serving=True)
        log.info("node agent serves", grpc=str(listening), node=self._settings.node_name)
        return listening

    def _register(self, server: GrpcServer) -> None:
        settings = self._settings
        sampler = SharedSampler(self._gpus, gather_s=GATHER_S)
        service = NodeGpuPods(
            node_name=settings.node_name,
            sampler=sampler,
            identifier=self._identifier,
            request_limit_s=settings.request_limit,
            health=self._health,
            pods_on_gpus=self._pods_on_gpus,
        )
        pb_grpc.add_GpuPodsServiceServicer_to_server(service, server.registry)
        diagnosis = NodeDiagnosis(
            node_name=settings.node_name,
            sampler=sampler,
            surroundings=self._surroundings,
            request_limit_s=settings.request_limit,
            health=self._health,
            reporting=self._reporting,
            device_plugin=self._device_plugin,
        )
        diagnosis_pb2_grpc.add_DiagnosisServiceServicer_to_server(diagnosis, server.registry)

    async def stop(self) -> None:
        """Let running calls end within the grace that is set, then stop serving."""
        if self._server is not None:
            await self._server.stop(self._settings.stop_grace)
            self._server = None
            if self._reporting is not None:
                await self._reporting.stop()
            if self._looking is not None:
                self._looking.cancel()
                await asyncio.wait({self._looking})
            if self._health is not None:
                await self._health.stop()
            log.info("node agent stopped", node=self._settings.node_name)
