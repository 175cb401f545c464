"""The workloads of a simulated cluster, each as the pods it consists of.

The first ones are made to be looked at: between them they show every kind of process that an
answer can hold. What follows them, without end, is more of the ordinary.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.workloads import ordinary, showcase
from simulator.workloads.planner import Placed, Planner


def plans(planner: Planner) -> Iterator[Placed]:
    """Pods, without end; in an order that shows most in the first two dozen."""
    if planner.gpu_nodes:
        yield from ordinary.training(planner, "team-nlp", "llama-finetune", 2, 4)
        yield from showcase.same_name_twice(planner)
        yield from ordinary.inference(planner, "serving", "chat", 3)
        yield from showcase.notebooks(planner)
        yield from showcase.on_mig(planner)
        yield from showcase.mps(planner)
        yield from showcase.rendering(planner)
        yield from showcase.warming_up(planner)
    yield showcase.pending(planner)
    if planner.gpu_nodes:
        yield showcase.static(planner)
    yield from showcase.without_gpu(planner)
    while True:
        yield from ordinary.more(planner)


__all__ = ["Placed", "Planner", "plans"]
