"""Through the controller, alone on one core: GetGpuPods of 32 rows, by gRPC and by HTTP.

Sixteen callers with a connection each, who ask again as soon as they have their answer. Processor
time says what a request costs whatever else the machine does meanwhile; requests a second are
right only where nothing else wants that core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench.loading import METHOD, Load, Loader, Server
from tests.bench.report import Figure, at_least, latencies, median, quick, show
from tests.bench.request_path import RequestPath, request_path
from tests.bench.usage import cpu_seconds

CALLERS = 16
BARE, GATEWAY = "bare server", "grpc-gateway"


@dataclass(frozen=True, slots=True)
class Turn:
    """One load, and the processor time of those that answered it."""

    load: Load
    cpu_ms: float
    """For each answer."""


def main() -> None:
    """Measure and print."""
    with request_path() as path:
        by_grpc, bare, agent = measure(
            lambda: _grpc(path, path.grpc),
            lambda: _grpc(path, path.bare),
            lambda: _grpc(path, path.agent),
        )
        by_http, gateway = measure(
            lambda: _http(path, path.http),
            lambda: _http(path, path.gateway, path.grpc),
        )
    show(
        f"through the controller on one core, {CALLERS} callers, 32 rows",
        [
            *_figures("gRPC", by_grpc, bare, BARE, at_least_per_second=1000),
            *_figures("HTTP", by_http, gateway, GATEWAY, at_least_per_second=600),
        ],
        [
            f"{BARE}: gRPC in Python as ours, on the same core, that answers at once",
            f"{GATEWAY}: the real one, on the same core, before the controller's gRPC port",
            f"the agent, asked by the same load without a controller: {_per_second(agent):,.0f}/s",
        ],
    )


def measure(*kinds: Callable[[], Turn]) -> list[list[Turn]]:
    """Several turns of each kind, one after another, so that what else runs meets all."""
    for kind in kinds:
        kind()  # connections, first uses
    rounds = [[kind() for kind in kinds] for _ in range(1 if quick() else 7)]
    return [list(of_kind) for of_kind in zip(*rounds, strict=True)]


def _grpc(path: RequestPath, server: Server) -> Turn:
    return _turn(lambda: _loader(path).grpc(server.at, METHOD, path.request), server)


def _http(path: RequestPath, *servers: Server) -> Turn:
    """Asks the first; the others are those that it asks."""
    return _turn(lambda: _loader(path).http(servers[0].at, path.target), *servers)


def _turn(ask: Callable[[], Load], *servers: Server) -> Turn:
    pids = [server.pid for server in servers]
    before = cpu_seconds(pids)
    load = ask()
    return Turn(load, (cpu_seconds(pids) - before) / len(load.latencies_s) * 1000)


def _loader(path: RequestPath) -> Loader:
    return Loader(path.load, CALLERS, seconds=1.0 if quick() else 3.0)


def _per_second(turns: Sequence[Turn]) -> float:
    return median([turn.load.per_second for turn in turns])


def _figures(
    name: str,
    ours: Sequence[Turn],
    baseline: Sequence[Turn],
    baseline_is: str,
    *,
    at_least_per_second: float,
) -> list[Figure]:
    """Medians of the turns; latencies are of all answers of all turns."""
    rate = Figure(
        f"{name}, requests/s",
        _per_second(ours),
        "/s",
        _per_second(baseline),
        baseline_is,
        target=at_least(at_least_per_second),
    )
    cost = Figure(
        f"{name}, processor time a request",
        median([turn.cpu_ms for turn in ours]),
        "ms",
        median([turn.cpu_ms for turn in baseline]),
        baseline_is,
    )
    ours_s, baseline_s = (
        [each for turn in turns for each in turn.load.latencies_s] for turns in (ours, baseline)
    )
    return [rate, cost, *latencies(name, ours_s, baseline_s, baseline_is)]
