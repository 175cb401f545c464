"""What `gpupods simulate` tells its user: what is there, what to try, and what is worth a look."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TypedDict

from rich.console import Console

from gpupods.identity import PodRef
from simulator.cluster import SimulatedCluster
from simulator.questions import METHOD, url


class _AsItIs(TypedDict):
    markup: bool
    highlight: bool
    soft_wrap: bool


AS_IT_IS: _AsItIs = {"markup": False, "highlight": False, "soft_wrap": True}
"""How to print what is to be copied, or was laid out already."""


class Guide:
    """Prints to ``console``. Commands are never folded, so that they can be copied."""

    def __init__(self, console: Console, cluster: SimulatedCluster) -> None:
        self._console = console
        self._cluster = cluster

    def show(self) -> None:
        """All of it."""
        self._what_there_is()
        pod = self.first_pod()
        if pod is not None:
            self._what_to_try(pod)
        self._worth_a_look()

    def first_pod(self) -> PodRef | None:
        """The pod that examples ask about: one with GPUs, if there is any."""
        truth = self._cluster.truth
        refs = [highlight.pod for highlight in self._cluster.scenario.highlights]
        placed = [ref for ref in [*refs, *truth.refs] if truth.refs[ref].node is not None]
        return next((ref for ref in placed if self._has_gpus(ref)), next(iter(placed), None))

    def _has_gpus(self, ref: PodRef) -> bool:
        node = self._cluster.truth.refs[ref].node
        return node is not None and bool(node.gpus)

    def grpcurl(self, pod: PodRef) -> str:
        """The question by grpcurl."""
        address = self._cluster.grpc
        return f"""grpcurl -plaintext -d '{{"worker_id": "{pod}"}}' {address} {METHOD}"""

    def curl(self, pod: PodRef) -> str:
        """The question by curl."""
        return f"curl '{url(self._cluster, pod)}'"

    def get(self, pod: PodRef) -> str:
        """The question by the command."""
        return f"{program('gpupods')} get {pod} --server {self._cluster.grpc}"

    def kubectl(self, rest: str) -> str:
        """A kubectl command line."""
        return (
            f"{program('kubectl')} --kubeconfig {shlex.quote(str(self._cluster.kubeconfig))} {rest}"
        )

    def inject(self, node: str, gpu: int, what: str) -> str:
        """A fault, or a remedy, from another terminal."""
        return f"{program('gpupods')} simulate inject --node {node} --gpu {gpu} {what}"

    def gpu_list(self) -> str:
        """The GPUs that are unfit."""
        return f"{program('gpupods')} gpu list --unfit --server {self._cluster.grpc}"

    def word(self, word: str, node: str, gpu: int, reason: str) -> str:
        """An operator's word, which goes to the Node by the kubeconfig."""
        return (
            f"{program('gpupods')} gpu {word} {node} {gpu} --reason {shlex.quote(reason)} "
            f"--kubeconfig {shlex.quote(str(self._cluster.kubeconfig))}"
        )

    def command(self, line: str) -> None:
        """One command line, as it is to be typed."""
        self._console.print(f"  {line}", style="cyan", **AS_IT_IS)

    def _what_there_is(self) -> None:
        cluster, truth = self._cluster, self._cluster.truth
        with_gpus = [node for node in truth.nodes.values() if node.gpus]
        self._console.print(
            f"A simulated cluster is running: {len(truth.nodes)} nodes, "
            f"{sum(len(node.gpus) for node in with_gpus)} GPUs on {len(with_gpus)} of them, "
            f"{len(truth.pods)} pods, a node agent on each node, and a controller.",
            **AS_IT_IS,
        )
        self._columns(
            [
                ("gRPC", str(cluster.grpc)),
                ("HTTP", f"http://{cluster.http}"),
                ("Kubernetes API", cluster.apiserver.url),
                ("node agents", f"port {cluster.agents.port} of each node's InternalIP"),
            ]
        )

    def _columns(self, rows: list[tuple[str, str]]) -> None:
        """Two columns, whole, whatever the width of the terminal."""
        width = max(len(left) for left, _ in rows)
        for left, right in rows:
            self._console.print(f"  {left:{width}}  {right}", **AS_IT_IS)

    def _what_to_try(self, pod: PodRef) -> None:
        node = self._cluster.truth.refs[pod].node
        self._console.print("\n[bold]Whose processes are on the GPUs of a pod's node:[/]")
        for line in (self.get(pod), self.curl(pod), self.grpcurl(pod)):
            self.command(line)
        if node is not None:
            self._console.print("\n[bold]The same of a node's own agent, without the cluster:[/]")
            self.command(
                f"grpcurl -plaintext {node.addresses[0]}:{self._cluster.agents.port} {METHOD}"
            )
        self._console.print("\n[bold]As in a real cluster, by port-forward to the controller:[/]")
        kubeconfig = shlex.quote(str(self._cluster.kubeconfig))
        self.command(f"KUBECONFIG={kubeconfig} {program('gpupods')} get {pod}")
        self._console.print("\n[bold]The cluster, by real kubectl; delete a pod and ask again:[/]")
        self.command(self.kubectl("get pods -A -o wide"))
        self.command(self.kubectl(f"delete pod -n {pod.namespace} {pod.name}"))
        if node is not None and node.gpus:
            self._console.print("\n[bold]A GPU fails; which, why, and whom it hurts:[/]")
            self.command(self.inject(node.name, node.gpus[0].index, "--xid 79"))
            self.command(self.gpu_list())
            self._console.print("\n[bold]You take a GPU out of use, and give it back:[/]")
            self.command(self.word("exclude", node.name, node.gpus[-1].index, "gets too hot"))
            self.command(self.word("restore", node.name, node.gpus[-1].index, "fan replaced"))

    def _worth_a_look(self) -> None:
        highlights = self._cluster.scenario.highlights
        if not highlights:
            return
        self._console.print("\n[bold]Worth asking about:[/]")
        self._columns([(str(highlight.pod), highlight.why) for highlight in highlights])


def program(name: str) -> str:
    """How to call a program of ours from here: by its name if a shell would find this one."""
    beside = Path(sys.executable).with_name(name)
    found = shutil.which(name)
    if not beside.exists() or (found and Path(found).resolve() == beside.resolve()):
        return name
    relative = os.path.relpath(beside)
    return shlex.quote(min(relative, str(beside), key=len))
