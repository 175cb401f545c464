"""`gpupods simulate` from its options to its exit code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gpupods import GpuPodsError
from gpupods.addresses import HostPort
from gpupods.identity import PodRef
from gpupods.logs import LogFormat, LogLevel, configure_logs
from gpupods.serving import run, until_signal
from simulator.agents import free_or_any
from simulator.cluster import SimulatedCluster, SimulationOptions
from simulator.guide import Guide
from simulator.questions import (
    Answer,
    NoUsableAnswerError,
    Way,
    by_command,
    by_grpc,
    by_http,
    run_command,
    wrong_with,
)
from simulator.scenario import Size

GRPC_LISTEN = HostPort("127.0.0.1", 50050)
HTTP_LISTEN = HostPort("127.0.0.1", 8080)
AGENT_PORT = 50051

ENDED, WRONG, INTERRUPTED = 0, 1, 130
DIFFERENCES_SHOWN = 20


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
    """
    configure_logs(LogFormat.AUTO, LogLevel.WARNING)
    codes: list[int] = []

    async def whole() -> None:
        codes.append(await _Simulation(wishes, Console()).run())

    run(whole)
    return codes[0] if codes else INTERRUPTED


class _Simulation:
    def __init__(self, wishes: Wishes, console: Console) -> None:
        self._wishes = wishes
        self._console = console

    async def run(self) -> int:
        async with SimulatedCluster(self._options()) as cluster:
            self._tell_moved_ports(cluster)
            guide = Guide(self._console, cluster)
            code = ENDED
            if self._wishes.demo or self._wishes.once:
                code = await self._demonstrate(cluster, guide)
            if self._wishes.once:
                return code
            guide.show()
            self._console.print("\nCtrl-C ends it.", highlight=False)
            await until_signal()
            return code

    def _options(self) -> SimulationOptions:
        wishes = self._wishes
        return SimulationOptions(
            size=wishes.size,
            grpc_listen=wishes.grpc_listen or free_or_any(GRPC_LISTEN),
            http_listen=wishes.http_listen or free_or_any(HTTP_LISTEN),
            agent_port=AGENT_PORT,
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

    async def _demonstrate(self, cluster: SimulatedCluster, guide: Guide) -> int:
        """Ask in each way, show the command and whether the answer is right."""
        pod = guide.first_pod()
        if pod is None:
            self._console.print("There is no pod on any node, so there is nothing to ask about.")
            return ENDED
        ways: tuple[tuple[str, Way, str], ...] = (
            ("by gRPC", by_grpc, guide.grpcurl(pod)),
            ("by HTTP", by_http, guide.curl(pod)),
            ("by the command, whose own start is in the time", by_command, guide.get(pod)),
        )
        right = True
        for how, way, line in ways:
            self._console.print(f"[bold]{how}[/]")
            guide.command(line)
            right &= await self._ask(cluster, pod, way)
        try:
            # Written as it is: it has its own columns, and rich would fold them.
            self._console.print(Text(await run_command(cluster, pod)), soft_wrap=True)
        except NoUsableAnswerError as error:
            right = self._wrong(error)
        return ENDED if right else WRONG

    async def _ask(self, cluster: SimulatedCluster, pod: PodRef, way: Way) -> bool:
        try:
            answer = await way(cluster, pod)
        except (NoUsableAnswerError, GpuPodsError) as error:
            return self._wrong(error)
        wrong = wrong_with(cluster, pod, answer.response)
        verdict = f"WRONG in {len(wrong)} places" if wrong else "as simulated"
        self._console.print(f"  -> {_summary(answer)}; {verdict}", highlight=False)
        for difference in wrong[:DIFFERENCES_SHOWN]:
            self._console.print(Text(f"     {difference}"), soft_wrap=True)
        return not wrong

    def _wrong(self, error: Exception) -> bool:
        self._console.print(Text(f"  -> NO ANSWER: {error}"), soft_wrap=True)
        return False


def _summary(answer: Answer) -> str:
    response = answer.response
    of_pods = sum(len(pods.pidPods) for pods in response.GpuPods.values())
    of_none = sum(len(each.processes) for each in response.unattributed.values())
    counts = f"{len(response.GpuInfos)} GPUs, {of_pods} processes of pods, {of_none} of no pod"
    return f"{counts}; {answer.took_s * 1000:.1f} ms"
