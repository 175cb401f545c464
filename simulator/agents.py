"""The node agents of a simulated cluster: the real ones, each on its node's simulated edges."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpupods.addresses import HostPort
from gpupods.identity import NodeName
from gpupods.kube.api import KubeApi
from nodeagent.agent import NodeAgent
from nodeagent.containers.identify import IdentifyMode, ProcessIdentifier
from nodeagent.diagnosis.examine import Surroundings
from nodeagent.health.monitor import HealthMonitor
from nodeagent.health.policy_files import PolicyFiles
from nodeagent.pods_on_gpus import PodsOnGpus
from nodeagent.reporting.reporter import Reporter
from nodeagent.reporting.status import Reporting
from nodeagent.settings import NodeAgentSettings
from simulator.gpus import SimulatedGpus
from simulator.health import INTERVAL_S, RARELY_S, SimulatedHealth, node_clock
from simulator.model import Cluster, SimNode
from simulator.pci import SimulatedPciBus
from simulator.processes import SimulatedProcessTable
from simulator.runtime import SimulatedRuntime

STOP_GRACE_S = 0.2
READ_GPU_S = 0.00025
"""What it costs to read and judge one GPU."""
LOOK_AFTER = 3
"""A look at the pods on the GPUs comes after so many such readings."""
ATTEMPTS = 5
"""Ports to be tried before it must be something else that is wrong."""


@dataclass(slots=True)
class AgentOfNode:
    """One node's agent and the edges it has. ``agent`` is None while it does not run."""

    node: SimNode
    gpus: SimulatedGpus
    table: SimulatedProcessTable
    runtime: SimulatedRuntime
    health: HealthMonitor
    """It outlives the agent, as the state on a node's disk does."""
    agent: NodeAgent | None = None

    def surroundings(self, clock: Callable[[], float]) -> Surroundings:
        """What the agent finds on the node, whose own clock may be off."""
        bus = SimulatedPciBus(self.node)
        return Surroundings(
            self.runtime, self.table, bus, lambda: clock() + self.node.clock_ahead_s
        )


class Agents:
    """An agent for each node of ``cluster``, all at one port, each at its node's address."""

    def __init__(
        self,
        cluster: Cluster,
        clock: Callable[[], float],
        mode: IdentifyMode = IdentifyMode.AUTO,
        health_policy: Path | None = None,
        health_interval_s: float | None = None,
    ) -> None:
        self.port = 0
        self.api: KubeApi | None = None
        """Where they report to; None while there is nowhere."""
        self._health_interval_s = health_interval_s or _interval_s(cluster)
        self._mode = mode
        self._health_policy = health_policy
        self._clock = clock
        self.by_node: dict[NodeName, AgentOfNode] = {
            node.name: AgentOfNode(
                node,
                SimulatedGpus(node, clock),
                SimulatedProcessTable(node),
                SimulatedRuntime(node),
                self._health(node, health_policy),
            )
            for node in cluster.nodes.values()
        }

    def _health(self, node: SimNode, policy: Path | None) -> HealthMonitor:
        now = node_clock(node, self._clock)
        source = SimulatedHealth(node, interval_s=self._health_interval_s)
        return HealthMonitor([source], PolicyFiles(policy), now=now)

    @property
    def dwell_s(self) -> float:
        """How long a GPU must stay clean before it is fit again, by the agents' policy."""
        files = PolicyFiles(self._health_policy)
        files.refresh()
        return files.policy.recovery.dwell_s

    async def start(self, port: int) -> None:
        """Start them all at ``port``, or at another one if that is in use somewhere.

        Raises:
            OSError: the nodes' addresses cannot be listened on.
        """
        hosts = [each.node.addresses[0] for each in self.by_node.values()]
        self.port = common_port(hosts, port)
        for name in self.by_node:
            await self.start_one(name)

    async def start_one(self, name: NodeName) -> None:
        """Start the agent of one node, at the node's first address as it is now."""
        each = self.by_node[name]
        settings = NodeAgentSettings(
            grpc_listen=HostPort(each.node.addresses[0], self.port),
            node_name=name,
            stop_grace=STOP_GRACE_S,
        )
        identifier = ProcessIdentifier(each.table, each.runtime, self._mode)
        surroundings = each.surroundings(self._clock)
        pods = PodsOnGpus(each.gpus, identifier, every_s=LOOK_AFTER * self._health_interval_s)
        agent = NodeAgent(
            settings,
            each.gpus,
            identifier,
            surroundings,
            each.health,
            reporting=self._reporting(each, pods),
            pods_on_gpus=pods if each.node.gpus else None,
        )
        await agent.start()
        each.agent = agent

    def _reporting(self, each: AgentOfNode, pods: PodsOnGpus) -> Reporting | None:
        """What tells the API server of the node's GPUs, where it has any."""
        if self.api is None or not each.node.gpus:
            return None
        return Reporter(self.api, each.node.name, each.health, pods=pods)

    async def stop_one(self, name: NodeName) -> None:
        """Stop the agent of one node."""
        each = self.by_node[name]
        if each.agent is not None:
            await each.agent.stop()
            each.agent = None

    async def stop(self) -> None:
        """Stop them all."""
        await asyncio.gather(*(self.stop_one(name) for name in self.by_node))


def _interval_s(cluster: Cluster) -> float:
    """From one reading of a node's GPUs to the next: a quarter of a core for all of them."""
    gpus = sum(len(node.gpus) for node in cluster.nodes.values())
    return min(max(INTERVAL_S, gpus * READ_GPU_S * 4), RARELY_S)


def common_port(hosts: list[str], wanted: int) -> int:
    """A port that is free at each of ``hosts``: ``wanted`` if it is, else another.

    Raises:
        OSError: there is none, or one of the hosts is not an address of this machine.
    """
    port = wanted
    for _ in range(ATTEMPTS):
        try:
            return _port_at_all(hosts, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            port = 0
    raise OSError(errno.EADDRINUSE, f"no port is free at all of {len(hosts)} addresses")


def _port_at_all(hosts: list[str], port: int) -> int:
    sockets: list[socket.socket] = []
    try:
        for host in hosts:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            sockets.append(socket.create_server((host, port), family=family))
            port = sockets[0].getsockname()[1]
        return port
    finally:
        for each in sockets:
            each.close()


def free_or_any(listen: HostPort) -> HostPort:
    """``listen`` if its port is free there, else the same host with port 0, which is any.

    Raises:
        OSError: the host is not an address of this machine.
    """
    try:
        with socket.create_server((listen.host, listen.port)):
            return listen
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return HostPort(listen.host, 0)
