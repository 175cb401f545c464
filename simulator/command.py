"""`gpupods simulate` from its options to its exit code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from gpupods.addresses import HostPort
from gpupods.cli.output.stdout import ReaderGone
from gpupods.logs import LogFormat, LogLevel, configure_logs
from gpupods.serving import run, until_signal
from gpupods.standard_streams import discard_stdout
from nodeagent.health.policy_files import PolicyFiles
from simulator.agents import free_or_any
from simulator.cluster import SimulatedCluster, SimulationOptions
from simulator.control.meeting import About
from simulator.control.server import ControlServer
from simulator.demonstration import demonstrate
from simulator.guide import Guide
from simulator.health_demonstration import demonstrate_health
from simulator.kubeconfig import KubeconfigFile
from simulator.scenario import Size

LOOPBACK = "127.0.0.1"
GRPC_LISTEN = HostPort(LOOPBACK, 50050)
HTTP_LISTEN = HostPort(LOOPBACK, 8080)
AGENT_PORT = 50051

DEMO_DWELL_S = 2.0
DEMO_INTERVAL_S = 0.25
HURRIED = (
    f"A GPU must stay clean for {DEMO_DWELL_S:g} s here before it is fit again, by an operator's "
    "policy made for this demonstration; without one it is a minute.\n"
)

RIGHT, WRONG, INTERRUPTED = 0, 1, 130


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line asks for. An address of None is the usual one, or another if taken."""

    size: Size
    grpc_listen: HostPort | None = None
    http_listen: HostPort | None = None
    kubeconfig: Path | None = None
    health_policy: Path | None = None
    health: bool = False
    demo: bool = False
    once: bool = False


def simulate(wishes: Wishes) -> int:
    """Run a simulated cluster until Ctrl-C, or until the question has been asked ``once``.

    Returns: the exit code; 1 if an answer was not as it should be.

    Raises:
        OSError: something cannot be listened on, or written.
        ReaderGone: nobody reads what is printed; the cluster has been ended by then.
    """
    # What the agents notice in a demonstration is shown there.
    configure_logs(LogFormat.AUTO, LogLevel.ERROR if wishes.health else LogLevel.WARNING)
    check_policy(wishes.health_policy)
    KubeconfigFile(wishes.kubeconfig).check()
    console = _Screen()
    codes: list[int] = []

    async def whole() -> None:
        codes.append(await _Simulation(wishes, console).run())

    run(whole)
    return codes[0] if codes else INTERRUPTED


def check_policy(path: Path | None) -> None:
    """See whether the agents will take an operator's policy.

    Raises:
        OSError: they will not.
    """
    files = PolicyFiles(path)
    files.refresh()
    if files.problem:
        raise OSError(files.problem)


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """Rich itself would end the event loop under the cluster."""
        discard_stdout()
        raise ReaderGone("stdout is closed")


class _Simulation:
    def __init__(self, wishes: Wishes, console: Console) -> None:
        self._wishes = wishes
        self._console = console
        self._code = INTERRUPTED
        self._policy = wishes.health_policy

    async def run(self) -> int:
        """Run until it is done or a signal comes. What is half started is started whole first."""
        signalled = asyncio.create_task(until_signal())
        async with contextlib.AsyncExitStack() as running:
            if self._wishes.health and self._wishes.health_policy is None:
                self._hurry(running)
            cluster = await self._start(running)
            await self._take_injections(running, cluster)
            busy = asyncio.create_task(self._use(cluster))
            await asyncio.wait((signalled, busy), return_when=asyncio.FIRST_COMPLETED)
            busy.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await busy
        signalled.cancel()
        return self._code

    async def _start(self, running: contextlib.AsyncExitStack) -> SimulatedCluster:
        """At the usual ports; if another begins at this moment and is faster, at any."""
        try:
            return await running.enter_async_context(SimulatedCluster(self._options()))
        except OSError:
            anywhere = self._options(HostPort(LOOPBACK, 0), HostPort(LOOPBACK, 0), 0)
            return await running.enter_async_context(SimulatedCluster(anywhere))

    def _hurry(self, running: contextlib.AsyncExitStack) -> None:
        """Nobody wants to watch for the minute that a GPU must stay clean."""
        folder = running.enter_context(tempfile.TemporaryDirectory(prefix="gpupods-simulate-"))
        self._policy = Path(folder) / "policy.toml"
        self._policy.write_text(f"[recovery]\ndwell_s = {DEMO_DWELL_S}\n")

    async def _take_injections(
        self, running: contextlib.AsyncExitStack, cluster: SimulatedCluster
    ) -> None:
        """Let other terminals make GPUs fail; a cluster without that is one all the same."""
        guide = Guide(self._console, cluster)
        nodes = len(cluster.truth.nodes)
        about = About(os.getpid(), str(cluster.kubeconfig), nodes, guide.gpu_list())
        server = ControlServer(cluster.truth, about)
        running.push_async_callback(server.stop)
        try:
            await server.start()
        except OSError as error:
            self._console.print(f"gpupods simulate inject cannot reach this one: {error}")

    async def _use(self, cluster: SimulatedCluster) -> None:
        self._tell_moved_ports(cluster)
        guide = Guide(self._console, cluster)
        right = True
        if self._wishes.health:
            if self._wishes.health_policy is None:
                self._console.print(HURRIED, highlight=False, soft_wrap=True)
            right = await demonstrate_health(self._console, cluster, guide)
        elif self._wishes.demo or self._wishes.once:
            right = await demonstrate(self._console, cluster, guide)
        self._code = RIGHT if right else WRONG
        if not self._wishes.once:
            guide.show()
            self._console.print("\nCtrl-C ends it.", highlight=False)
            await asyncio.Event().wait()

    def _options(
        self,
        grpc_listen: HostPort = GRPC_LISTEN,
        http_listen: HostPort = HTTP_LISTEN,
        agent_port: int = AGENT_PORT,
    ) -> SimulationOptions:
        wishes = self._wishes
        return SimulationOptions(
            size=wishes.size,
            grpc_listen=wishes.grpc_listen or free_or_any(grpc_listen),
            http_listen=wishes.http_listen or free_or_any(http_listen),
            agent_port=agent_port,
            kubeconfig=wishes.kubeconfig,
            health_policy=self._policy,
            health_interval_s=DEMO_INTERVAL_S if wishes.health else None,
        )

    def _tell_moved_ports(self, cluster: SimulatedCluster) -> None:
        wishes = self._wishes
        moved = [
            ("gRPC is", GRPC_LISTEN.port, cluster.addresses.grpc.port, wishes.grpc_listen),
            ("HTTP is", HTTP_LISTEN.port, cluster.addresses.http.port, wishes.http_listen),
            ("the node agents are", AGENT_PORT, cluster.agents.port, None),
        ]
        for what, usual, port, wished in moved:
            if wished is None and port not in {usual, 0}:
                self._console.print(f"Port {usual} is in use: {what} at {port}.", highlight=False)
