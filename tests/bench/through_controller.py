"""Through the controller, alone on one core: GetGpuPods of 32 rows, by gRPC and by HTTP.

Sixteen callers with a connection each, who ask again as soon as they have their answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.bench.loading import Load, Loader
from tests.bench.report import Figure, at_least, latencies, median, quick, show
from tests.bench.request_path import METHOD, RequestPath, http_path, request_path

CALLERS = 16


def main() -> None:
    """Measure and print."""
    with request_path() as path:
        by_grpc, bare, agent = measure(
            [lambda: _grpc(path, path.grpc), lambda: _grpc(path, path.bare),
             lambda: _grpc(path, path.agent)]
        )  # fmt: skip
        by_http, gateway = measure(
            [lambda: _http(path, path.http), lambda: _http(path, path.gateway)]
        )
    show(
        f"through the controller on one core, {CALLERS} callers, 32 rows",
        [
            _rate("gRPC", by_grpc, bare, "bare server", 1000),
            *_latencies("gRPC", by_grpc, bare, "bare server"),
            _rate("HTTP", by_http, gateway, "grpc-gateway", 600),
            *_latencies("HTTP", by_http, gateway, "grpc-gateway"),
        ],
        [
            "bare server: gRPC in Python as ours, on the same core, that answers at once",
            "grpc-gateway: the real one, on the same core, before the controller's gRPC port",
            f"the agent, asked by the same load without a controller: {_per_second(agent):,.0f}/s",
        ],
    )


def measure(kinds: Sequence[Callable[[], Load]]) -> list[list[Load]]:
    """Several loads of each kind, in turns, so that what else the machine does meets all."""
    for kind in kinds:
        kind()  # connections, first uses
    turns = [[kind() for kind in kinds] for _ in range(1 if quick() else 5)]
    return [list(of_kind) for of_kind in zip(*turns, strict=True)]


def _grpc(path: RequestPath, at: str) -> Load:
    return _loader(path).grpc(at, METHOD, path.request)


def _http(path: RequestPath, at: str) -> Load:
    return _loader(path).http(at, http_path(path))


def _loader(path: RequestPath) -> Loader:
    return Loader(path.load, CALLERS, seconds=1.0 if quick() else 4.0)


def _per_second(loads: Sequence[Load]) -> float:
    return median([load.per_second for load in loads])


def _rate(
    name: str, ours: Sequence[Load], baseline: Sequence[Load], baseline_is: str, target: float
) -> Figure:
    return Figure(
        f"{name}, requests/s",
        _per_second(ours),
        "/s",
        _per_second(baseline),
        baseline_is,
        target=at_least(target),
    )


def _latencies(
    name: str, ours: Sequence[Load], baseline: Sequence[Load], baseline_is: str
) -> list[Figure]:
    """Of all answers of all turns."""
    ours_s, baseline_s = (
        [each for load in loads for each in load.latencies_s] for loads in (ours, baseline)
    )
    return latencies(name, ours_s, baseline_s, baseline_is)
