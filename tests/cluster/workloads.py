"""Kubernetes objects whose pods compute: one of each kind that people run on GPUs. Pure.

Every container is a shell with children that wait, as `ocispec.NESTED` says. Each pod has the
label `workload`, its value the name by which people know what made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tests.cluster.images import BUSYBOX
from tests.realparts import ocispec

Json = dict[str, Any]

LABEL: Final = "workload"
PROCESSES: Final = ocispec.NESTED
NAMESPACES: Final = ("team-a", "team-b")
CONTAINERS: Final = 14
"""How many containers of `of_every_kind` run, with a static pod and an ephemeral container."""
GPU_NODES: Final = {"nvidia.com/gpu.present": "true"}


def of_every_kind(node: str) -> list[Json]:
    """One of each kind, in NAMESPACES; those that are bare pods are on `node`."""
    return [
        deployment("team-a", "infer"),
        job("team-a", "train"),
        daemon_set("team-b", "collect"),
        stateful_set("team-b", "store"),
        with_sidecar("team-a", "kinds"),
        initialising("team-a", "loading"),
        with_host_pids("team-b", "profile"),
        pod("team-a", "twin", pod_spec(node=node)),
        pod("team-b", "twin", pod_spec(node=node)),
    ]


def container(name: str = "main", script: str = "", **fields: object) -> Json:
    """A container of a shell and its children, or of a script."""
    words = ["/bin/sh", "-c", script or ocispec.shell_script(PROCESSES)]
    return {"name": name, "image": BUSYBOX, "command": words, **fields}


def pod_spec(
    *containers: Json, node: str = "", init: Sequence[Json] = (), **fields: object
) -> Json:
    """The spec of a pod on a GPU node, on `node` if it is named; one container if none is given."""
    return {
        "containers": list(containers) or [container()],
        "initContainers": list(init),
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "nodeSelector": {"kubernetes.io/hostname": node} if node else GPU_NODES,
        **fields,
    }


def pod(namespace: str, name: str, spec: Json) -> Json:
    """A pod that nothing has made but a person."""
    metadata = {"namespace": namespace, "name": name, "labels": {LABEL: name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def deployment(namespace: str, name: str, *, replicas: int = 2) -> Json:
    """A Deployment whose pods keep to nodes of their own."""
    apart = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {LABEL: name}},
    }
    spec = pod_spec(topologySpreadConstraints=[apart])
    return _of_pods("Deployment", namespace, name, spec, replicas=replicas)


def daemon_set(namespace: str, name: str) -> Json:
    return _of_pods("DaemonSet", namespace, name, pod_spec())


def stateful_set(namespace: str, name: str) -> Json:
    return _of_pods("StatefulSet", namespace, name, pod_spec(), serviceName=name, replicas=1)


def job(namespace: str, name: str) -> Json:
    """A Job that is never done. Its pods' labels are Kubernetes' own beside ours."""
    template = {"metadata": {"labels": {LABEL: name}}, "spec": pod_spec(restartPolicy="Never")}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"template": template},
    }


def with_sidecar(namespace: str, name: str) -> Json:
    """A pod whose init container is done, and whose sidecar runs."""
    done = container("prepare", "exit 0")
    sidecar = container("sidecar", restartPolicy="Always")
    return pod(namespace, name, pod_spec(init=[done, sidecar]))


def initialising(namespace: str, name: str) -> Json:
    """A pod whose init container computes, while its main one has to wait."""
    return pod(namespace, name, pod_spec(init=[container("warm-up")]))


def with_host_pids(namespace: str, name: str) -> Json:
    return pod(namespace, name, pod_spec(hostPID=True))


def _of_pods(kind: str, namespace: str, name: str, spec: Json, **fields: object) -> Json:
    labels = {LABEL: name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
            **fields,
        },
    }
