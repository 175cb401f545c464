"""Node agent at rest: processor time and memory of all its processes, asked once and then left.

Memory is the sum of the proportional set sizes (shared pages are counted once among those who
share them), and of the resident ones.
"""

from __future__ import annotations

import time

from tests.bench.gpu_node import ask_once, gpu_node
from tests.bench.report import Figure, at_most, quick, show
from tests.bench.usage import cpu_seconds, memory, tree

MIB = 1024 * 1024


def main() -> None:
    """Measure and print."""
    containers, idle_s = (40, 10) if quick() else (200, 60)
    with gpu_node(containers) as node:
        ask_once(node)
        pids = tree(node.agent.pid)
        before, began = cpu_seconds(pids), time.monotonic()
        time.sleep(idle_s)
        share = (cpu_seconds(pids) - before) / (time.monotonic() - began)
        assert tree(node.agent.pid) == pids, "a process of the agent was replaced meanwhile"
        proportional = [memory(pid, "Pss") / MIB for pid in pids]
        resident = [memory(pid, "Rss") / MIB for pid in pids]
        ask_once(node)
    each = ", ".join(f"{size:.1f}" for size in proportional)
    show(
        f"node agent at rest for {idle_s} s, {containers} containers, 8 GPUs",
        [
            Figure("processor, share of one core", share * 100, "%", target=at_most(0.1)),
            Figure("memory, proportional (PSS)", sum(proportional), "MiB", target=at_most(80)),
            Figure("memory, resident (RSS)", sum(resident), "MiB", target=at_most(80)),
        ],
        [f"PSS of each of its {len(pids)} processes: {each} MiB"],
    )
