"""A whole cluster in one process, on loopback: the real services on simulated edges.

Starts and stops the parts, and leaves nothing behind: no process, no port, no file.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from controller.controller import Controller, ControllerAddresses
from controller.settings import ControllerSettings
from gpupods.addresses import HostPort
from gpupods.kube.access import KubeAccess
from nodeagent.containers.identify import IdentifyMode
from simulator.agents import Agents
from simulator.apiserver import SimulatedApiServer
from simulator.apiserver.local import LocalApi
from simulator.changes import change_addresses, start_pod
from simulator.controller_pod import controller_pod
from simulator.kubeconfig import KubeconfigFile
from simulator.model import Cluster, SimNode
from simulator.scenario import Scenario, Size, build

ANY_PORT = HostPort("127.0.0.1", 0)
STOP_GRACE_S = 0.2
EVERYWHERE = frozenset({"::", "0.0.0.0"})
SYNC_LIMIT_S = 60.0
DEFAULT_SIZE = Size()


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """How a cluster is simulated.

    Attributes:
        size: How much of everything there is.
        grpc_listen: Of the controller; port 0 takes any free one.
        http_listen: Of the controller; port 0 takes any free one.
        agent_port: Wanted for all agents; another is taken where it is in use.
        kubeconfig: Where to write it; None: in a temporary folder.
        identify: How the agents find a process's container.
        health_policy: An operator's policy for all agents; None: the built-in one.
        health_interval_s: From one reading of a node's GPUs to the next, after a change; None: as
            often as a cluster of that size allows.
    """

    size: Size = DEFAULT_SIZE
    grpc_listen: HostPort = ANY_PORT
    http_listen: HostPort = ANY_PORT
    agent_port: int = 0
    kubeconfig: Path | None = None
    identify: IdentifyMode = IdentifyMode.AUTO
    health_policy: Path | None = None
    health_interval_s: float | None = None


class SimulatedCluster:
    """Runs from ``async with`` to its end.

    Attributes:
        scenario: What there is, and what of it is worth a look.
        truth: The scenario's cluster, to be changed by `simulator.changes`.
        apiserver: The Kubernetes API, with its faults.
        agents: The node agents.
        controller: The controller, synced.
        addresses: Where the controller listens.
        kubeconfig: The file that kubectl can use.
    """

    def __init__(self, options: SimulationOptions = SimulationOptions()) -> None:
        self._options = options
        self._kubeconfig_file = KubeconfigFile(options.kubeconfig)
        self.scenario: Scenario = build(options.size)
        self.truth: Cluster = self.scenario.cluster
        self.apiserver = SimulatedApiServer(self.truth)
        self.agents = Agents(
            self.truth,
            time.time,
            options.identify,
            options.health_policy,
            options.health_interval_s,
        )
        self.controller: Controller
        self.addresses: ControllerAddresses
        self.kubeconfig: Path

    async def __aenter__(self) -> Self:
        """Start everything, and wait until the controller knows the cluster.

        Raises:
            OSError: something cannot be listened on, or written.
            TimeoutError: the controller did not come to know the cluster.
        """
        try:
            await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop everything."""
        await self._stop()

    async def _start(self) -> None:
        options = self._options
        await self.apiserver.start()
        self.kubeconfig = self._kubeconfig_file.write(self.apiserver.url)
        self.agents.api = LocalApi(self.apiserver)
        await self.agents.start(options.agent_port)
        settings = ControllerSettings(
            grpc_listen=options.grpc_listen,
            http_listen=options.http_listen,
            kubeconfig=str(self.kubeconfig),
            agent_port=self.agents.port or 1,
            scheduler_extender=True,
            stop_grace=STOP_GRACE_S,
        )
        self.controller = Controller(settings, KubeAccess.load(settings.kubeconfig))
        self.addresses = await self.controller.start()
        if not await self.controller.informers.wait_synced(SYNC_LIMIT_S):
            raise TimeoutError(f"the controller is not ready: {self.controller.ready()[1]}")
        self._show_controller()

    def _show_controller(self) -> None:
        """Let the cluster have a pod for the controller, so that a port-forward finds it."""
        nodes = list(self.truth.nodes.values())
        if not nodes:
            return
        plan = controller_pod(self.truth, self.grpc.port, self.http.port)
        start_pod(self.truth, nodes[-1], plan)
        for target in (self.grpc, self.http):
            where = (plan.namespace, plan.name, target.port)
            self.apiserver.forwarding.targets[where] = target

    async def _stop(self) -> None:
        if hasattr(self, "controller"):
            await self.controller.stop()
        await self.agents.stop()
        if self.agents.api is not None:
            await self.agents.api.close()
        await self.apiserver.stop()
        self._kubeconfig_file.remove()

    @property
    def grpc(self) -> HostPort:
        """Where to reach the controller by gRPC."""
        return _reachable(self.addresses.grpc)

    @property
    def http(self) -> HostPort:
        """Where to reach the controller by HTTP."""
        return _reachable(self.addresses.http)

    async def move_node(self, node: SimNode, address: str) -> None:
        """Give ``node`` another address, as a reboot with DHCP does; its agent moves along."""
        await self.agents.stop_one(node.name)
        change_addresses(self.truth, node, [address])
        await self.agents.start_one(node.name)


def _reachable(listening: HostPort) -> HostPort:
    """A server that listens on every address is reached over loopback."""
    return HostPort("127.0.0.1", listening.port) if listening.host in EVERYWHERE else listening
