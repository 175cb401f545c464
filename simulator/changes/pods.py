"""Pods start and are deleted."""

from __future__ import annotations

from collections.abc import Iterable

from gpupods.identity import PodRef
from simulator import names
from simulator.changes.containers import make_container, remove_container
from simulator.changes.processes import uses_of
from simulator.kinds import ContainerKind
from simulator.model import Cluster, SimNode, SimPod, Verb, WallSeconds
from simulator.plans import ContainerPlan, PodPlan, ProcessPlan


def start_pod(cluster: Cluster, node: SimNode | None, plan: PodPlan) -> SimPod:
    """Start a pod on ``node``; with None it stays Pending, with no container made.

    Raises:
        ValueError: a pod of that name is there.
        IndexError: the plan wants a GPU or MIG device that the node lacks.
    """
    if PodRef(plan.namespace, plan.name) in cluster.refs:
        raise ValueError(f"there is a pod {plan.namespace}/{plan.name} already")
    if node is not None:
        for container in plan.containers:
            for process in container.processes:
                uses_of(node, process.uses)  # raises before anything is changed
    uid = names.pod_uid(cluster.random)
    pod = SimPod(
        namespace=plan.namespace,
        name=plan.name,
        uid=uid,
        runtime_uid=names.static_pod_uid(cluster.random) if plan.static else uid,
        node=node,
        ip="",
        created=WallSeconds(cluster.now() - plan.age_s),
        qos=plan.qos,
        owner=plan.owner,
        labels=dict(plan.labels),
        annotations=dict(plan.annotations),
        scheduler=plan.scheduler,
        host_network=plan.host_network,
    )
    if plan.static:
        pod.annotations["kubernetes.io/config.hash"] = pod.runtime_uid
        pod.annotations["kubernetes.io/config.mirror"] = pod.runtime_uid
        pod.annotations["kubernetes.io/config.source"] = "file"
    cluster.pods[uid] = pod
    cluster.refs[pod.ref] = pod
    _start_containers(cluster, pod, plan.containers)
    cluster.tell(Verb.ADDED, pod)
    return pod


def bind_pod(
    cluster: Cluster, pod: SimPod, node: SimNode, containers: Iterable[ContainerPlan]
) -> None:
    """Start a pod that waited for a scheduler, on ``node``.

    Raises:
        ValueError: it is on a node already.
        IndexError: the plans want a GPU or MIG device that the node lacks.
    """
    if pod.node is not None:
        raise ValueError(f"pod {pod.name} is already assigned to node {pod.node.name!r}")
    plans = tuple(containers)
    for plan in plans:
        for process in plan.processes:
            uses_of(node, process.uses)  # raises before anything is changed
    pod.node = node
    _start_containers(cluster, pod, plans)
    cluster.tell(Verb.MODIFIED, pod)


def _start_containers(cluster: Cluster, pod: SimPod, plans: Iterable[ContainerPlan]) -> None:
    if pod.node is not None:
        pod.ip = pod.node.addresses[0] if pod.host_network else _pod_ip(cluster, pod.node)
        pause = ContainerPlan(
            "POD", "registry.k8s.io/pause:3.10", (ProcessPlan("pause"),), ContainerKind.SANDBOX
        )
        pod.sandbox = make_container(cluster, pod, pause)
    pod.containers = [make_container(cluster, pod, plan) for plan in plans]


def _pod_ip(cluster: Cluster, node: SimNode) -> str:
    position = list(cluster.nodes).index(node.name) + 1
    node.last_pod_ip += 1
    return f"10.{244 + position // 256}.{position % 256}.{node.last_pod_ip % 254 + 1}"


def delete_pod(cluster: Cluster, pod: SimPod, *, containers_stay: bool = False) -> None:
    """Delete ``pod``, its containers and its processes.

    With ``containers_stay`` only the API object goes, as after a forced deletion on a node whose
    kubelet is slow: the containers and their hold on GPUs remain.
    """
    del cluster.pods[pod.uid]
    del cluster.refs[pod.ref]
    if pod.node is not None and not containers_stay:
        for container in (pod.sandbox, *pod.containers):
            if container is not None:
                remove_container(pod.node, container)
    cluster.tell(Verb.DELETED, pod)
