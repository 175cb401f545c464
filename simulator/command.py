"""`gpupods simulate` from its options to its exit code."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from gpupods.addresses import HostPort
from gpupods.cli.output.stdout import ReaderGone
from gpupods.logs import LogFormat, LogLevel, configure_logs
from gpupods.serving import run, until_signal
from gpupods.standard_streams import discard_stdout
from simulator.agents import free_or_any
from simulator.cluster import SimulatedCluster, SimulationOptions
from simulator.demonstration import demonstrate
from simulator.guide import Guide
from simulator.kubeconfig import KubeconfigFile
from simulator.scenario import Size

LOOPBACK = "127.0.0.1"
GRPC_LISTEN = HostPort(LOOPBACK, 50050)
HTTP_LISTEN = HostPort(LOOPBACK, 8080)
AGENT_PORT = 50051

RIGHT, WRONG, INTERRUPTED = 0, 1, 130


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line asks for. An address of None is the usual one, or another if taken."""

    size: Size
    grpc_listen: HostPort | None = None
    http_listen: HostPort | None = None
    kubeconfig: Path | None = None
    demo: bool = False
    once: bool = False


def simulate(wishes: Wishes) -> int:
    """Run a simulated cluster until Ctrl-C, or until the question has been asked ``once``.

    Returns: the exit code; 1 if an answer was not as it should be.

    Raises:
        OSError: something cannot be listened on, or written.
        ReaderGone: nobody reads what is printed; the cluster has been ended by then.
    """
    configure_logs(LogFormat.AUTO, LogLevel.WARNING)
    KubeconfigFile(wishes.kubeconfig).check()
    console = _Screen()
    codes: list[int] = []

    async def whole() -> None:
        codes.append(await _Simulation(wishes, console).run())

    run(whole)
    return codes[0] if codes else INTERRUPTED


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

    async def run(self) -> int:
        """Run until it is done or a signal comes. What is half started is started whole first."""
        signalled = asyncio.create_task(until_signal())
        async with contextlib.AsyncExitStack() as running:
            cluster = await self._start(running)
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

    async def _use(self, cluster: SimulatedCluster) -> None:
        self._tell_moved_ports(cluster)
        guide = Guide(self._console, cluster)
        right = True
        if self._wishes.demo or self._wishes.once:
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
