"""What is to be started: pods, containers and processes as values, before they have ids."""

from __future__ import annotations

from dataclasses import dataclass, field

from nodeagent.gpus.sample import ProcessType
from simulator.kinds import ContainerKind, ContainerState, Qos
from simulator.model import OwnerReference


@dataclass(frozen=True, slots=True)
class UsePlan:
    """A hold on the GPU of index ``gpu``, or on its MIG device of index ``mig``."""

    gpu: int
    memory_mib: int | None
    """None: the driver will not tell."""
    types: tuple[ProcessType, ...] = (ProcessType.COMPUTE,)
    mig: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """A process: its command name and what it holds."""

    name: str
    uses: tuple[UsePlan, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """A container of a pod."""

    name: str
    image: str
    processes: tuple[ProcessPlan, ...] = ()
    kind: ContainerKind = ContainerKind.APP
    state: ContainerState = ContainerState.RUNNING
    gpus: int = 0
    """How many it requests."""
    waiting_reason: str = "ContainerCreating"
    ports: dict[str, int] = field(default_factory=dict)
    """By name."""
    limits: dict[str, str] = field(default_factory=dict)
    """Further extended resources, by name."""
    command: str = "main"
    """What it starts when it is bound to a node later."""


@dataclass(frozen=True, slots=True)
class PodPlan:
    """A pod, whole."""

    namespace: str
    name: str
    containers: tuple[ContainerPlan, ...]
    owner: OwnerReference | None = None
    labels: dict[str, str] = field(default_factory=dict)
    qos: Qos = Qos.BURSTABLE
    static: bool = False
    host_network: bool = False
    age_s: float = 0.0
    """How long ago it was started."""
    annotations: dict[str, str] = field(default_factory=dict)
    scheduler: str = "default-scheduler"
