"""Several controllers of one simulated cluster, of which one leads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from controller.controller import Controller, ControllerAddresses
from controller.settings import ControllerSettings
from gpupods import AsyncClient
from gpupods.addresses import HostPort
from gpupods.kube.access import KubeAccess
from gpupods.v1alpha1 import gpupods_pb2 as pb
from tests.simulator.running import Running, patiently

ANY_PORT = HostPort("127.0.0.1", 0)
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICE = "gpupods.v1alpha1.GpuPodsService"


class Replica:
    """One controller that takes part in the election."""

    def __init__(self, run: Running) -> None:
        settings = ControllerSettings(
            grpc_listen=ANY_PORT,
            http_listen=ANY_PORT,
            agent_port=run.cluster.agents.port,
            leader_elect=True,
            stop_grace=0.2,
        )
        access = KubeAccess.without_credentials(run.cluster.apiserver.url)
        self.controller = Controller(settings, access)
        self.addresses: ControllerAddresses

    async def start(self) -> None:
        self.addresses = await self.controller.start()

    def ready(self) -> bool:
        return self.controller.ready()[0]

    def synced(self) -> bool:
        return self.controller.cache.synced

    async def probe(self, path: str) -> tuple[int, str]:
        """What the HTTP side says."""
        async with (
            aiohttp.ClientSession(f"http://{self.addresses.http}") as session,
            session.get(path) as response,
        ):
            return response.status, await response.text()

    async def health(self, name: str) -> int:
        """What the gRPC health service says."""
        async with grpc.aio.insecure_channel(str(self.addresses.grpc)) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
            status: int = answer.status
            return status

    async def until_health(self, name: str, status: int) -> None:
        """The health service is told of a change; it need not be asked at that moment."""
        async for _ in patiently():
            if await self.health(name) == status:
                return
        raise AssertionError(f"the health of {name!r} is not {status}")

    async def ask(self, pod: object) -> pb.GetGpuPodsResponse:
        async with AsyncClient(str(self.addresses.grpc)) as client:
            return await client.get_gpu_pods_message(str(pod))


@asynccontextmanager
async def two_replicas(run: Running) -> AsyncIterator[tuple[Replica, Replica]]:
    """The first leads, the second is synced and waits."""
    async with AsyncExitStack() as stack:
        replicas = Replica(run), Replica(run)
        for each in replicas:
            await each.start()
            stack.push_async_callback(each.controller.stop)
            await until(each.synced, "it knows the cluster")
            await until(lambda: any(one.ready() for one in replicas), "one of them leads")
        assert [each.ready() for each in replicas] == [True, False]
        yield replicas


async def until(condition: Callable[[], bool], what: str) -> None:
    """Until ``condition`` holds."""
    async for _ in patiently():
        if condition():
            return
    raise AssertionError(f"waited in vain: {what}")
