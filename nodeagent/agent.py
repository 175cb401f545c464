"""A node agent from its edges up: what `__main__` runs on real edges, the simulator on its own."""

from __future__ import annotations

import structlog

from gpupods.addresses import HostPort
from gpupods.serving import GrpcServer
from gpupods.v1alpha1 import gpupods_pb2 as pb
from gpupods.v1alpha1 import gpupods_pb2_grpc as pb_grpc
from nodeagent.containers.identity import Identifier
from nodeagent.gpus.sample import GpuSource
from nodeagent.gpus.sharing import SharedSampler
from nodeagent.service import NodeGpuPods
from nodeagent.settings import NodeAgentSettings

log = structlog.get_logger()

GATHER_S = 0.003
"""Enough for ten callers to read their answers and ask again; less than they would notice."""

SERVICE = pb.DESCRIPTOR.services_by_name["GpuPodsService"].full_name


class NodeAgent:
    """Serves GetGpuPods for one node. The edges are given, and stay the giver's to close."""

    def __init__(
        self, settings: NodeAgentSettings, gpus: GpuSource, identifier: Identifier
    ) -> None:
        self._settings = settings
        self._gpus = gpus
        self._identifier = identifier
        self._server: GrpcServer | None = None

    async def start(self) -> HostPort:
        """Listen and serve.

        Returns: where it listens.

        Raises:
            OSError: it cannot listen there.
        """
        server = GrpcServer([SERVICE])
        service = NodeGpuPods(
            node_name=self._settings.node_name,
            sampler=SharedSampler(self._gpus, gather_s=GATHER_S),
            identifier=self._identifier,
            request_limit_s=self._settings.request_limit,
        )
        pb_grpc.add_GpuPodsServiceServicer_to_server(service, server.registry)
        listening = await server.start(self._settings.grpc_listen)
        await server.set_serving(serving=True)
        self._server = server
        log.info("node agent serves", grpc=str(listening), node=self._settings.node_name)
        return listening

    async def stop(self) -> None:
        """Let running calls end within the grace that is set, then stop serving."""
        if self._server is not None:
            await self._server.stop(self._settings.stop_grace)
            self._server = None
            log.info("node agent stopped", node=self._settings.node_name)
