"""What all planned workloads share: names with owners, ages, nodes, and places on GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from simulator import names
from simulator.kinds import ContainerKind, ContainerState, Qos
from simulator.model import Cluster, OwnerReference, SimNode
from simulator.placing import Placing
from simulator.plans import ContainerPlan, PodPlan, ProcessPlan

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod and its node; None: nobody has found it one. ``why`` it is worth a look, if it is."""

    node: SimNode | None
    plan: PodPlan
    why: str = ""


class Planner:
    """Plans pods on the nodes of ``cluster``; ``placing`` knows what their GPUs hold already.

    Attributes:
        number: How many workloads have been planned beyond those that are made to be looked at.
    """

    def __init__(self, cluster: Cluster, placing: Placing) -> None:
        self.source = cluster.random
        self.placing = placing
        self.gpu_nodes = [node for node in cluster.nodes.values() if node.gpus]
        self.other_nodes = [node for node in cluster.nodes.values() if not node.gpus]
        self.number = 0

    def plan(
        self,
        namespace: str,
        name: str,
        containers: tuple[ContainerPlan, ...],
        owner: OwnerReference | None,
        labels: dict[str, str],
        *,
        qos: Qos = Qos.BURSTABLE,
        age_s: float | None = None,
        static: bool = False,
    ) -> PodPlan:
        """A pod; of an age between ten minutes and twenty days unless one is given."""
        age = self.source.uniform(600.0, 20 * DAY_S) if age_s is None else age_s
        return PodPlan(namespace, name, containers, owner, labels, qos, static=static, age_s=age)

    def deployment(self, name: str) -> tuple[str, OwnerReference]:
        """The hash of a pod template, and the ReplicaSet that carries it."""
        template = names.template_hash(self.source)
        return template, self.owner("ReplicaSet", f"{name}-{template}")

    def owner(self, kind: str, name: str) -> OwnerReference:
        """A controller that nobody sees: only its pods are there."""
        return OwnerReference(kind, name, names.object_uid(self.source))

    def busy(self, low: int, high: int) -> int:
        """Percent."""
        return self.source.randint(low, high)

    def gpu_node(self, position: int) -> SimNode:
        """The first nodes by position; later workloads go anywhere."""
        if self.number:
            position = self.source.randrange(len(self.gpu_nodes))
        return self.gpu_nodes[position % len(self.gpu_nodes)]

    def other_node(self) -> SimNode | None:
        """One without a GPU, if there is any."""
        nodes = self.other_nodes or self.gpu_nodes
        return self.source.choice(nodes) if nodes else None


def container(
    name: str,
    image: str,
    kind: ContainerKind = ContainerKind.APP,
    state: ContainerState = ContainerState.RUNNING,
    *,
    gpus: int = 0,
    processes: tuple[ProcessPlan, ...] = (),
    waiting: str = "ContainerCreating",
) -> ContainerPlan:
    """A container that holds the planned processes."""
    return ContainerPlan(name, image, processes, kind, state, gpus, waiting)
