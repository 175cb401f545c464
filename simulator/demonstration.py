"""The main question asked in every way, with the command that asks it and whether it was right."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from gpupods import GpuPodsError
from gpupods.identity import PodRef
from simulator.cluster import SimulatedCluster
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

DIFFERENCES_SHOWN = 20


async def demonstrate(console: Console, cluster: SimulatedCluster, guide: Guide) -> bool:
    """Ask about the guide's first pod, and print everything.

    Returns: whether all answers were as the truth has it.
    """
    pod = guide.first_pod()
    if pod is None:
        console.print("There is no pod on any node, so there is nothing to ask about.")
        return True
    ways: tuple[tuple[str, Way, str], ...] = (
        ("by gRPC", by_grpc, guide.grpcurl(pod)),
        ("by HTTP", by_http, guide.curl(pod)),
        ("by the command, whose own start is in the time", by_command, guide.get(pod)),
    )
    right = True
    for how, way, line in ways:
        console.print(f"[bold]{how}[/]")
        guide.command(line)
        right &= await _ask(console, cluster, pod, way)
    try:
        # Written as it is: it has its own columns, and rich would fold them.
        console.print(Text(await run_command(cluster, pod)), soft_wrap=True)
    except NoUsableAnswerError as error:
        right = _no_answer(console, error)
    return right


async def _ask(console: Console, cluster: SimulatedCluster, pod: PodRef, way: Way) -> bool:
    try:
        answer = await way(cluster, pod)
    except (NoUsableAnswerError, GpuPodsError) as error:
        return _no_answer(console, error)
    wrong = wrong_with(cluster, pod, answer.response)
    verdict = f"WRONG in {len(wrong)} places" if wrong else "as simulated"
    console.print(f"  -> {_summary(answer)}; {verdict}", highlight=False, soft_wrap=True)
    for difference in wrong[:DIFFERENCES_SHOWN]:
        console.print(Text(f"     {difference}"), soft_wrap=True)
    return not wrong


def _no_answer(console: Console, error: Exception) -> bool:
    console.print(Text(f"  -> NO ANSWER: {error}"), soft_wrap=True)
    return False


def _summary(answer: Answer) -> str:
    response = answer.response
    of_pods = sum(len(pods.pidPods) for pods in response.GpuPods.values())
    of_none = sum(len(each.processes) for each in response.unattributed.values())
    counts = f"{len(response.GpuInfos)} GPUs, {of_pods} processes of pods, {of_none} of no pod"
    return f"{counts}; {answer.took_s * 1000:.1f} ms"
