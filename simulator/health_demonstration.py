"""A GPU fails, is kept free of new work, and comes back: step by step, printed and checked."""

from __future__ import annotations

from functools import partial
from typing import Any

from rich.console import Console
from rich.markup import escape

from gpupods import GpuPodsError
from gpupods.accounting.names import GPU_MEMORY
from gpupods.client.answer import GpuHealth
from gpupods.client.gpu_list import ListedGpu
from gpupods.logs import shorten
from gpupods.node_annotations import HEALTH, UNHEALTHY_IDS
from simulator.cluster import SimulatedCluster
from simulator.guide import AS_IT_IS, Guide
from simulator.injection import Injection, pods_on
from simulator.model import SimNode
from simulator.questions import NoUsableAnswerError, run_program
from simulator.rehearsal import Rehearsal, StepError

XID = 79
MESSAGE_SHOWN = 120
"""Characters of an event's message."""

Json = dict[str, Any]


async def demonstrate_health(console: Console, cluster: SimulatedCluster, guide: Guide) -> bool:
    """Let a GPU fail and recover, and print everything.

    Returns: whether each step was as it should be.
    """
    node = _node(cluster, guide)
    if node is None:
        console.print("There is no node whose GPUs can be shared, so there is none to fail.")
        return True
    async with Rehearsal(cluster, node) as rehearsal:
        demonstration = _Demonstration(console, cluster, guide, rehearsal)
        try:
            await demonstration.run()
        except (StepError, GpuPodsError, NoUsableAnswerError) as error:
            demonstration.check(False, str(error))  # noqa: FBT003 - what came of it
        return demonstration.right


def _node(cluster: SimulatedCluster, guide: Guide) -> SimNode | None:
    """The node of the guide's first pod, if its GPUs can be shared; else another one."""
    first = guide.first_pod()
    nodes = list(cluster.truth.nodes.values())
    if first is not None and (of_first := cluster.truth.refs[first].node) is not None:
        nodes.insert(0, of_first)
    return next((node for node in nodes if GPU_MEMORY in node.capacity), None)


class _Demonstration:
    def __init__(
        self, console: Console, cluster: SimulatedCluster, guide: Guide, rehearsal: Rehearsal
    ) -> None:
        self._console = console
        self._cluster = cluster
        self._guide = guide
        self._rehearsal = rehearsal
        self._node = rehearsal.node
        self._index = 0
        self._hurt: set[tuple[str, str]] = set()
        self._indexes: dict[str, int | None] = {}
        self.right = True

    async def run(self) -> None:
        """All steps, in their order.

        Raises:
            StepError: one did not come to its end.
        """
        await self._before()
        await self._fails()
        await self._is_told()
        await self._is_kept_free()
        await self._comes_back()

    def check(self, right: bool, text: str) -> None:  # noqa: FBT001 - what came of a step
        """Print what came of a step."""
        self.right &= right
        mark = "[green]ok   [/]" if right else "[bold red]WRONG[/]"
        self._console.print(f"  {mark} {escape(text)}", highlight=False, soft_wrap=True)

    def _title(self, text: str) -> None:
        self._console.print(f"[bold]{escape(text)}[/]", highlight=False, soft_wrap=True)

    def _line(self, text: str) -> None:
        self._console.print(f"        {text}", **AS_IT_IS)

    async def _before(self) -> None:
        self._title("A GPU that is fit is given away")
        given = await self._rehearsal.place("rehearsal-before")
        self.check(
            given.isdigit(),
            f"a pod that asks for a part of a GPU of {self._node.name}: {_got(given)}",
        )
        if not given.isdigit():
            raise StepError("no GPU was given to anybody, so none can fail")
        self._index = int(given)
        pods = pods_on(self._node, self._node.gpus[self._index])
        self._hurt = {(pod.namespace, pod.name) for pod in pods}
        self._line(f"pods on GPU {self._index}: {_names(self._hurt)}")
        self._indexes = await self._others()

    async def _fails(self) -> None:
        self._title("It fails")
        self._guide.command(self._guide.inject(self._node.name, self._index, f"--xid {XID}"))
        fault = Injection(self._node.name, (self._index,), xids=(XID,))
        change = partial(self._rehearsal.inject, fault)
        took_s = await self._rehearsal.until_announced(change, self._index, unfit=True)
        annotations = (await self._rehearsal.node_object())["metadata"]["annotations"]
        told = annotations.get(UNHEALTHY_IDS)
        self.check(
            told == str(self._index),
            f"after {took_s * 1000:.0f} ms its Node has the annotation {UNHEALTHY_IDS}: '{told}'",
        )
        health = annotations.get(HEALTH, "")
        self.check(f"XID {XID}" in health, f"and {HEALTH} with the reason and what to do")

    async def _is_told(self) -> None:
        self._title("Those concerned are told")
        gpu = await self._listed()
        on_it = {(pod.ref.namespace, pod.ref.name) for pod in gpu.pods or ()}
        self.check(on_it == self._hurt, f"gpupods gpu list names the pods hurt: {_names(on_it)}")
        detail = gpu.info.health_detail
        self.check(detail is not None, f"what to do: {detail.action if detail else 'unknown'}")
        output = await run_program("gpu", "list", "--unfit", "--server", str(self._cluster.grpc))
        for line in filter(None, output.splitlines()):
            self._line(line)
        events = await self._rehearsal.events(self._all_told)
        about = [event for event in events if self._concerns(event)]
        self.check(self._all_told(events), "events on the Node and on each of these pods:")
        for event in about:
            of = event["involvedObject"]
            what = f"{event['type']}  {event['reason']}  {of['kind']}/{of['name']}"
            self._line(f"{what}: {shorten(event['message'], MESSAGE_SHOWN)}")

    async def _is_kept_free(self) -> None:
        self._title("Nobody is given it")
        given = await self._rehearsal.place("rehearsal-meanwhile")
        self.check(given != str(self._index), f"another pod of the same kind: {_got(given)}")
        others = await self._others()
        self.check(others == self._indexes, f"the other {len(others)} GPUs keep their indexes")

    async def _comes_back(self) -> None:
        self._title("The node is restarted, and it comes back")
        self._guide.command(self._guide.inject(self._node.name, self._index, "--recover"))
        remedy = Injection(self._node.name, (self._index,), recover=True)
        change = partial(self._rehearsal.inject, remedy)
        took_s = await self._rehearsal.until_announced(change, self._index, unfit=False)
        dwell_s = self._rehearsal.dwell_s
        self.check(
            took_s >= dwell_s,
            f"it had to stay clean for {dwell_s:g} s; after {took_s:.1f} s the annotation is gone",
        )
        gpu = await self._listed()
        self.check(gpu.info.health is GpuHealth.FIT, f"gpupods gpu list: {gpu.info.health.value}")
        given = await self._rehearsal.place("rehearsal-after")
        self.check(given == str(self._index), f"a third pod of the same kind: {_got(given)}")

    async def _listed(self) -> ListedGpu:
        listed = (await self._rehearsal.gpus()).gpus
        return next(gpu for gpu in listed if gpu.info.index == self._index)

    async def _others(self) -> dict[str, int | None]:
        """The index of each other GPU of the node."""
        gpus = (await self._rehearsal.gpus()).gpus
        return {gpu.info.uuid: gpu.info.index for gpu in gpus if gpu.info.index != self._index}

    def _all_told(self, events: list[Json]) -> bool:
        about = {_subject(event) for event in events if self._concerns(event)}
        wanted = {("Pod", *pod) for pod in self._hurt} | {("Node", "", self._node.name)}
        return wanted <= about

    def _concerns(self, event: Json) -> bool:
        kind, namespace, name = _subject(event)
        mine = (namespace, name) in self._hurt if kind == "Pod" else name == self._node.name
        return mine and f"GPU {self._index}" in event.get("message", "")


def _subject(event: Json) -> tuple[str, str, str]:
    about = event["involvedObject"]
    return about["kind"], about.get("namespace", ""), about["name"]


def _got(given: str) -> str:
    return f"given GPU {given}" if given.isdigit() else f"given none: {given}"


def _names(pods: set[tuple[str, str]]) -> str:
    return ", ".join(f"{namespace}/{name}" for namespace, name in sorted(pods)) or "none"
