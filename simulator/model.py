"""The truth of a simulated cluster: nodes, GPUs, pods, containers and processes, as plain values.

Everything that can be asked (the driver, /proc, the runtime, the API server) is a view on these
objects and keeps nothing of its own, so a change shows at every edge at once. Changes are made
by the functions in `simulator.changes`; what an answer must say of it is in `simulator.truth`.
"""

from __future__ import annotations

import enum
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NewType

from gpupods.identity import ContainerId, GpuUuid, NodeName, Pid, PodRef, PodUid
from nodeagent.gpus.sample import MigDevice, MigMode, ProcessType
from simulator.kinds import (
    CgroupShape,
    ContainerKind,
    ContainerState,
    DriverFault,
    Qos,
    RuntimeFault,
)

MIB = 1024 * 1024

WallSeconds = NewType("WallSeconds", float)
"""Seconds since the epoch."""


@dataclass
class GpuUse:
    """A process's hold on one GPU, or on one MIG device of it."""

    gpu: GpuUuid
    types: tuple[ProcessType, ...]
    memory_bytes: int | None
    """None: the driver cannot tell."""
    mig: MigDevice | None = None


@dataclass
class SimProcess:
    """A process of a node."""

    pid: Pid
    name: str
    started: WallSeconds
    container: SimContainer | None = field(repr=False)
    cgroup_path: str
    """Of a host process; empty for a container's, whose path follows from its container."""
    uses: list[GpuUse] = field(default_factory=list)
    exited: bool = False
    """The kernel has forgotten it, the driver has not."""


@dataclass
class SimContainer:
    """A container, of a pod or not."""

    id: ContainerId
    name: str
    image: str
    kind: ContainerKind
    pod: SimPod | None = field(repr=False)
    started: WallSeconds
    state: ContainerState = ContainerState.RUNNING
    processes: list[SimProcess] = field(default_factory=list, repr=False)
    restarts: int = 0
    last_id: ContainerId | None = None
    gpus_requested: int = 0
    limits: dict[str, str] = field(default_factory=dict)
    """Further extended resources that it asks for, by name."""
    command: str = "main"
    """The name of the process that it starts."""
    shim_stuck: bool = False
    waiting_reason: str = "ContainerCreating"
    exit_code: int = 0
    ports: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """A pod's controller reference."""

    kind: str
    name: str
    uid: str


@dataclass
class SimPod:
    """A pod. ``node`` is None while it is not scheduled."""

    namespace: str
    name: str
    uid: PodUid
    runtime_uid: PodUid
    """As cgroups and runtime labels have it: differs from ``uid`` for a static pod."""
    node: SimNode | None = field(repr=False)
    ip: str
    created: WallSeconds
    qos: Qos = Qos.BURSTABLE
    owner: OwnerReference | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    host_network: bool = False
    scheduler: str = "default-scheduler"
    sandbox: SimContainer | None = None
    containers: list[SimContainer] = field(default_factory=list)
    """In the order of the pod's spec: init containers first."""
    deleting_since: WallSeconds | None = None

    @property
    def ref(self) -> PodRef:
        """Its namespace and name."""
        return PodRef(self.namespace, self.name)


@dataclass
class SimGpu:
    """A physical GPU."""

    index: int
    uuid: GpuUuid
    name: str
    pci_address: str
    memory_total_bytes: int
    reserved_bytes: int
    """Used by the driver itself, with no process."""
    utilization_percent: int | None = 0
    mig_mode: MigMode = MigMode.DISABLED
    mig_devices: list[MigDevice] = field(default_factory=list)
    lost: bool = False
    """Fallen off the bus."""
    recovery_action: int = 0
    """What the driver asks for, as NVML counts; 0 is nothing."""
    remap_failure: bool = False
    remap_pending: bool = False
    uncorrectable_errors: int = 0
    resets: int = 0


@dataclass(frozen=True, slots=True)
class SimXid:
    """An XID in a node's kernel log."""

    at: WallSeconds
    pci_address: str
    xid: int


@dataclass
class SimNode:
    """A node: its hardware, its processes, and what is wrong with it."""

    name: NodeName
    uid: str
    boot_id: str
    addresses: list[str]
    """InternalIPs."""
    cgroup_shape: CgroupShape
    runtime_version: str
    booted: WallSeconds
    gpus: list[SimGpu] = field(default_factory=list)
    processes: dict[Pid, SimProcess] = field(default_factory=dict, repr=False)
    containers: dict[ContainerId, SimContainer] = field(default_factory=dict, repr=False)
    """Every container on it, of every kind."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What others than the kubelet report, by type, as the API shows it."""
    capacity: dict[str, str] = field(default_factory=dict)
    """Extended resources, by name."""
    allocatable: dict[str, str] = field(default_factory=dict)
    """As ``capacity``; one that is not here has all of it."""
    ready: bool = True
    unschedulable: bool = False
    last_pid: int = 2000
    last_pod_ip: int = 0
    generation: int = 0
    """Grows with every change of the set of containers."""
    driver_fault: DriverFault = DriverFault.NONE
    driver_delay_s: float = 0.0
    runtime_fault: RuntimeFault = RuntimeFault.NONE
    runtime_delay_s: float = 0.0
    clock_ahead_s: float = 0.0
    """How far its wall clock is ahead of everybody else's."""
    host_pids: bool = True
    """Whether its agent runs in the node's own pid namespace."""
    kernel_log: list[SimXid] = field(default_factory=list)
    """The XIDs of this boot."""
    watchers: list[Callable[[], None]] = field(default_factory=list, repr=False)
    """Called by whoever changes what a watch of GPUs' health would notice."""

    def disturb(self) -> None:
        """Let whoever watches the GPUs' health look."""
        for watcher in tuple(self.watchers):
            watcher()

    def gpu(self, uuid: GpuUuid) -> SimGpu:
        """The GPU with this UUID.

        Raises:
            KeyError: this node has none such.
        """
        for gpu in self.gpus:
            if gpu.uuid == uuid:
                return gpu
        raise KeyError(f"{self.name} has no GPU {uuid}")

    def uptime_s(self, at: WallSeconds) -> float:
        """The node's CLOCK_BOOTTIME at ``at``."""
        return at - self.booted


class Verb(enum.Enum):
    """What happened to an object; the values are the watch API's."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Change:
    """Something that the API server would tell its watchers."""

    verb: Verb
    object: SimPod | SimNode


@dataclass
class Cluster:
    """Everything there is. Two with one seed and one clock hold the same names and ids."""

    random: random.Random
    clock: Callable[[], float] = time.time
    nodes: dict[NodeName, SimNode] = field(default_factory=dict)
    pods: dict[PodUid, SimPod] = field(default_factory=dict)
    refs: dict[PodRef, SimPod] = field(default_factory=dict, repr=False)
    """The same pods by namespace and name."""
    observers: list[Callable[[Change], None]] = field(default_factory=list, repr=False)

    def now(self) -> WallSeconds:
        """The time, by this cluster's clock."""
        return WallSeconds(self.clock())

    def tell(self, verb: Verb, changed: SimPod | SimNode) -> None:
        """Let whoever observes the cluster know of a change that has been made."""
        for observer in tuple(self.observers):
            observer(Change(verb, changed))

    def pod(self, namespace: str, name: str) -> SimPod:
        """The pod of this name.

        Raises:
            KeyError: there is none such.
        """
        try:
            return self.refs[PodRef(namespace, name)]
        except KeyError:
            raise KeyError(f"no pod {namespace}/{name} in the simulated cluster") from None

    def pods_on(self, node: SimNode) -> Iterator[SimPod]:
        """The pods that are scheduled to ``node``."""
        return (pod for pod in self.pods.values() if pod.node is node)


def new_cluster(seed: int = 0, clock: Callable[[], float] = time.time) -> Cluster:
    """An empty cluster whose names and ids all follow from ``seed``."""
    return Cluster(random.Random(seed), clock)  # noqa: S311 - repeatable, not secret
