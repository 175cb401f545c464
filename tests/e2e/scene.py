"""What a test puts into one node, in the order in which a kubelet works, and what is then true.

A pod is made in the API server, its containers are started, their ids are reported, and some of
their processes are put on the fake driver's GPUs. `Scene.truth` is the answer to all that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from tests.e2e.host_process import HostProcess
from tests.e2e.living import living, living_in, wait_for_names
from tests.e2e.truth import (
    Knowledge,
    Living,
    Placed,
    PodOfContainer,
    expected_answer,
    labels_of,
)
from tests.fakedriver.scenario import MIB, MigInstance, Process, ProcessKind, Scenario
from tests.realparts import cgroups, objects
from tests.realparts.containerd import Container
from tests.realparts.kubeapi import ApiError, pod_path
from tests.realparts.objects import ContainerStatus, PodIdentity
from tests.realparts.ocispec import NESTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpupods.v1alpha1 import gpupods_pb2 as pb
    from tests.fakedriver.driver import FakeDriver
    from tests.fakedriver.scenario import Gpu
    from tests.realparts.apiserver import Apiserver
    from tests.realparts.containerd import Containerd
    from tests.realparts.objects import StatusField
    from tests.realparts.ocispec import ProcessTree


@dataclass
class ScenePod:
    """A pod and the containers that it has now; `last` are those before a restart."""

    identity: PodIdentity
    owner: tuple[str, str] | None
    containers: dict[str, Container] = field(default_factory=dict)
    fields: dict[str, StatusField] = field(default_factory=dict)
    last: dict[str, Container] = field(default_factory=dict)

    @property
    def ref(self) -> str:
        return f"{self.identity.namespace}/{self.identity.name}"

    @property
    def name(self) -> str:
        return self.identity.name

    @property
    def uid(self) -> str:
        return self.identity.uid

    def process(self, number: int = 0, *, container: str = "main") -> Living:
        """A process of a container, its first one having the number 0."""
        return living_in(self.containers[container], number)


class Scene:
    """Pods, containers and processes on one node; takes them all away when it is closed."""

    def __init__(
        self, node: str, apiserver: Apiserver, containerd: Containerd, driver: FakeDriver
    ) -> None:
        self.node = node
        self._apiserver = apiserver
        self._containerd = containerd
        self._driver = driver
        self._bare = driver.scenario
        self._pods: list[ScenePod] = []
        self._containers: list[Container] = []
        self._hosts: list[HostProcess] = []
        self._placed: list[Placed] = []
        self._reported: dict[str, PodOfContainer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What a test puts there

    def pod(
        self,
        namespace: str,
        name: str,
        *,
        containers: Sequence[str] = ("main",),
        init: Sequence[str] = (),
        sidecars: Sequence[str] = (),
        owner: tuple[str, str] | None = None,
        seen_owner: tuple[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        cgroup: str = cgroups.BURSTABLE,
        processes: ProcessTree = NESTED,
        sandbox: bool = False,
    ) -> ScenePod:
        """A running pod on this node, all its containers reported.

        `owner` is (kind, name) of the owner reference, `seen_owner` what people call it.
        """
        self._apiserver.api.create_namespace(namespace)
        body = objects.pod(
            namespace,
            name,
            node_name=self.node,
            containers=containers,
            init_containers=[*init, *sidecars],
            owner=owner,
            extra_metadata={"labels": dict(labels or {})},
        )
        for spec in body["spec"].get("initContainers", ()):
            if spec["name"] in sidecars:
                spec["restartPolicy"] = "Always"
        made = ScenePod(PodIdentity.of(self._apiserver.api.create_pod(body)), seen_owner or owner)
        self._pods.append(made)
        if sandbox:
            self._containers.append(self._containerd.run_sandbox(made.identity, cgroup=cgroup))
        for container in (*init, *sidecars, *containers):
            made.fields[container] = (
                "containerStatuses" if container in containers else "initContainerStatuses"
            )
            self.run_container(made, container, cgroup=cgroup, processes=processes)
        self.report(made)
        return made

    def run_container(
        self,
        pod: ScenePod,
        name: str,
        *,
        cgroup: str = cgroups.BURSTABLE,
        processes: ProcessTree = NESTED,
    ) -> Container:
        """Run one more container of the pod, not yet reported. A second of a name is a restart."""
        container = self._containerd.run_container(
            pod.identity, name, cgroup=cgroup, processes=processes
        )
        self._containers.append(container)
        wait_for_names(container)
        if name in pod.containers:
            pod.last[name] = pod.containers[name]
        pod.containers[name] = container
        return container

    def add_ephemeral(self, pod: ScenePod, name: str) -> None:
        """What `kubectl debug` does: a further container in a pod that runs."""
        path = f"{pod_path(pod.identity.namespace, pod.name)}/ephemeralcontainers"
        wanted = [{"name": name, "image": "test", "terminationMessagePolicy": "File"}]
        self._apiserver.api.patch(path, {"spec": {"ephemeralContainers": wanted}})
        pod.fields[name] = "ephemeralContainerStatuses"
        self.run_container(pod, name)
        self.report(pod)

    def report(self, pod: ScenePod) -> None:
        """Tell the API server which containers the pod has, as the kubelet does."""
        statuses = [
            ContainerStatus(
                name,
                container.id,
                last_id=pod.last[name].id if name in pod.last else None,
                field=pod.fields[name],
            )
            for name, container in pod.containers.items()
        ]
        self._apiserver.api.set_containers(pod.identity.namespace, pod.name, *statuses)
        for container in (*pod.containers.values(), *pod.last.values()):
            self._reported[container.id] = replace(labels_of(container), owner=pod.owner)

    def foreign_container(
        self, pod: PodIdentity, name: str, *, cgroup: str, namespace: str
    ) -> Container:
        """A container that the API server knows nothing of."""
        container = self._containerd.run_container(pod, name, cgroup=cgroup, namespace=namespace)
        self._containers.append(container)
        wait_for_names(container)
        return container

    def host_process(self) -> Living:
        """A process in no container."""
        host = HostProcess()
        self._hosts.append(host)
        host.start()
        return living(host.pid, None, host.cgroup)

    def put(
        self,
        gpu: int,
        living: Living,
        *,
        memory: int | None = 512 * MIB,
        kinds: ProcessKind = ProcessKind.COMPUTE,
        mig: int | None = None,
    ) -> None:
        """Have the driver list the process on a GPU, or on the MIG device `mig` of it."""
        on = self._driver.scenario.gpus[gpu]
        process = Process(living.pid, memory, kinds)
        device = None if mig is None else on.mig_instances[mig]
        self._placed.append(Placed(on.uuid, process, living, _same_mig(device)))
        self._driver.change(
            lambda scenario: scenario.with_gpu(on.uuid, lambda now: _with(now, process, mig))
        )

    def put_container(self, gpu: int, container: Container, number: int = 0) -> None:
        """Have the driver list a process of a container that is no pod's."""
        self.put(gpu, living_in(container, number))

    # What happens to it

    def take_off_gpus(self, *pids: int) -> None:
        """The driver lists these processes no longer."""
        self._placed = [one for one in self._placed if one.process.pid not in pids]
        self._driver.change(lambda scenario: _without(scenario, pids))

    def delete_pod(self, pod: ScenePod) -> None:
        """Delete the pod in the API server. Its containers run on until the kubelet ends them."""
        self._apiserver.api.delete_pod(pod.identity.namespace, pod.name)
        self._pods.remove(pod)
        for container in (*pod.containers.values(), *pod.last.values()):
            self._reported.pop(container.id, None)

    def end_container(self, container: Container) -> None:
        """Its processes are gone and the runtime has forgotten it; the driver still lists them."""
        self._containerd.delete_container(container)
        self._containers.remove(container)
        self.mark_exited(*container.pids)

    def mark_exited(self, *pids: int) -> None:
        """These processes are no more, though the driver lists them."""
        self._placed = [
            replace(one, exited=True) if one.process.pid in pids else one for one in self._placed
        ]

    # What is true now

    def truth(self) -> pb.GetGpuPodsResponse:
        """What the controller must answer."""
        return self.truth_for(lambda container: self._reported.get(container.id))

    def truth_before(self, reported: ScenePod) -> pb.GetGpuPodsResponse:
        """What the controller must answer until it has heard of this pod."""
        ids = {container.id for container in reported.containers.values()}
        return self.truth_for(
            lambda container: None if container.id in ids else self._reported.get(container.id)
        )

    def truth_by_labels(self) -> pb.GetGpuPodsResponse:
        """What the node agent must answer when it is given no map."""
        return self.truth_for(lambda container: labels_of(container) if container.name else None)

    def truth_by_map(self, pods: Mapping[str, str]) -> pb.GetGpuPodsResponse:
        """What the node agent must answer when it is given the map {containerID: pod name}."""

        def knowledge(container: Container) -> PodOfContainer | None:
            name = pods.get(container.id)
            return None if name is None else replace(labels_of(container), pod=name)

        return self.truth_for(knowledge)

    def truth_for(self, knowledge: Knowledge) -> pb.GetGpuPodsResponse:
        return expected_answer(self.node, self._driver.scenario, self._placed, knowledge)

    def close(self) -> None:
        """Take everything away. What a test has taken away already is no error."""
        self._driver.write(self._bare)
        pods, self._pods = self._pods, []
        for pod in pods:
            try:
                self._apiserver.api.delete_pod(pod.identity.namespace, pod.name)
            except ApiError as error:
                if error.status != 404:
                    raise
        containers, self._containers = self._containers, []
        for container in containers:
            self._containerd.delete_container(container)
        for host in self._hosts:
            host.end()


def _same_mig(device: MigInstance | None) -> MigInstance | None:
    return device and replace(device, processes=())


def _with(gpu: Gpu, process: Process, mig: int | None) -> Gpu:
    if mig is None:
        return replace(gpu, processes=(*gpu.processes, process))
    devices = list(gpu.mig_instances)
    devices[mig] = replace(devices[mig], processes=(*devices[mig].processes, process))
    return replace(gpu, mig_instances=tuple(devices))


def _without(scenario: Scenario, pids: Sequence[int]) -> Scenario:
    def keep(processes: tuple[Process, ...]) -> tuple[Process, ...]:
        return tuple(one for one in processes if one.pid not in pids)

    return replace(
        scenario,
        gpus=tuple(
            replace(
                gpu,
                processes=keep(gpu.processes),
                mig_instances=tuple(
                    replace(device, processes=keep(device.processes))
                    for device in gpu.mig_instances
                ),
            )
            for gpu in scenario.gpus
        ),
    )
