"""A simulated pod as the Kubernetes API shows it. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from simulator.kinds import ContainerKind, ContainerState, Qos
from simulator.model import SimContainer, SimPod, WallSeconds

Json = dict[str, Any]

IN_INIT = (ContainerKind.INIT, ContainerKind.SIDECAR)
RUNTIME_SCHEME = "containerd"
DIGEST_HEX = 64


def timestamp(moment: WallSeconds) -> str:
    """RFC 3339 in UTC to the second, as metav1.Time is written."""
    return datetime.fromtimestamp(int(moment), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_object(pod: SimPod) -> Json:
    """The pod, whole, but for its resourceVersion, which the store gives."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": _metadata(pod),
        "spec": _spec(pod),
        "status": _status(pod),
    }


def _metadata(pod: SimPod) -> Json:
    metadata: Json = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "creationTimestamp": timestamp(pod.created),
    }
    if pod.labels:
        metadata["labels"] = dict(pod.labels)
    if pod.annotations:
        metadata["annotations"] = dict(pod.annotations)
    if pod.owner is not None:
        metadata["generateName"] = f"{pod.owner.name}-"
        metadata["ownerReferences"] = [
            {
                "apiVersion": "v1" if pod.owner.kind == "Node" else _group_of(pod.owner.kind),
                "kind": pod.owner.kind,
                "name": pod.owner.name,
                "uid": pod.owner.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    if pod.deleting_since is not None:
        metadata["deletionTimestamp"] = timestamp(WallSeconds(pod.deleting_since + 30))
        metadata["deletionGracePeriodSeconds"] = 30
    return metadata


def _group_of(kind: str) -> str:
    return "batch/v1" if kind == "Job" else "apps/v1"


def _spec(pod: SimPod) -> Json:
    spec: Json = {
        "containers": [_container(each, pod) for each in of_kind(pod, ContainerKind.APP)],
        "restartPolicy": "Never" if pod.owner and pod.owner.kind == "Job" else "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": pod.scheduler,
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{key}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for key in ("not-ready", "unreachable")
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    if pod.node is not None:
        spec["nodeName"] = pod.node.name
    if pod.host_network:
        spec["hostNetwork"] = True
    init = of_kind(pod, *IN_INIT)
    if init:
        spec["initContainers"] = [_container(each, pod) for each in init]
    ephemeral = of_kind(pod, ContainerKind.EPHEMERAL)
    if ephemeral:
        spec["ephemeralContainers"] = [_container(each, pod) for each in ephemeral]
    return spec


def of_kind(pod: SimPod, *kinds: ContainerKind) -> list[SimContainer]:
    """The containers of ``pod`` that are of one of ``kinds``, in the spec's order."""
    return [container for container in pod.containers if container.kind in kinds]


def _container(container: SimContainer, pod: SimPod) -> Json:
    shown: Json = {
        "name": container.name,
        "image": container.image,
        "resources": _resources(container, pod.qos),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    if container.ports:
        shown["ports"] = [
            {"name": name, "containerPort": number, "protocol": "TCP"}
            for name, number in container.ports.items()
        ]
    if container.kind is ContainerKind.SIDECAR:
        shown["restartPolicy"] = "Always"
    return shown


def _resources(container: SimContainer, qos: Qos) -> Json:
    if container.kind is ContainerKind.EPHEMERAL or qos is Qos.BEST_EFFORT:
        return {}
    requests = {"cpu": "4", "memory": "16Gi"}
    limits = dict(requests) if qos is Qos.GUARANTEED else {}
    extended = dict(container.limits)
    if container.gpus_requested:
        extended["nvidia.com/gpu"] = str(container.gpus_requested)
    requests |= extended
    limits |= extended
    return {"limits": limits, "requests": requests} if limits else {"requests": requests}


def _status(pod: SimPod) -> Json:
    phase = phase_of(pod)
    if pod.node is None:
        return {"phase": phase, "qosClass": pod.qos.value, "conditions": [_unschedulable(pod)]}
    status: Json = {
        "phase": phase,
        "conditions": _conditions(pod, phase),
        "hostIP": pod.node.addresses[0] if pod.node.addresses else "",
        "hostIPs": [{"ip": address} for address in pod.node.addresses],
        "podIP": pod.ip,
        "podIPs": [{"ip": pod.ip}],
        "startTime": timestamp(pod.created),
        "qosClass": pod.qos.value,
    }
    for field, kinds in (
        ("initContainerStatuses", IN_INIT),
        ("containerStatuses", (ContainerKind.APP,)),
        ("ephemeralContainerStatuses", (ContainerKind.EPHEMERAL,)),
    ):
        containers = of_kind(pod, *kinds)
        if containers:
            status[field] = [_container_status(each) for each in containers]
    return status


def phase_of(pod: SimPod) -> str:
    """status.phase: by the containers' states, as the kubelet derives it."""
    apps = of_kind(pod, ContainerKind.APP)
    states = {container.state for container in apps}
    if pod.node is None or (ContainerState.WAITING in states and len(states) == 1):
        return "Pending"
    if states == {ContainerState.TERMINATED}:
        return "Failed" if any(container.exit_code for container in apps) else "Succeeded"
    return "Running"


def is_ready(pod: SimPod) -> bool:
    """Whether every container that should run does."""
    apps = of_kind(pod, ContainerKind.APP, ContainerKind.SIDECAR)
    return all(container.state is ContainerState.RUNNING for container in apps)


def _conditions(pod: SimPod, phase: str) -> list[Json]:
    ready = "True" if is_ready(pod) else "False"
    since = timestamp(pod.created)
    known = (
        ("PodReadyToStartContainers", "True"),
        ("Initialized", "True" if phase != "Pending" else "False"),
        ("Ready", ready),
        ("ContainersReady", ready),
        ("PodScheduled", "True"),
    )
    return [
        {"type": name, "status": status, "lastProbeTime": None, "lastTransitionTime": since}
        for name, status in known
    ]


def _unschedulable(pod: SimPod) -> Json:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0 nodes are available: insufficient nvidia.com/gpu.",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(pod.created),
    }


def _container_status(container: SimContainer) -> Json:
    started = container.state is not ContainerState.WAITING
    running = container.state is ContainerState.RUNNING
    digest = container.image.encode().hex().ljust(DIGEST_HEX, "0")[:DIGEST_HEX]
    status: Json = {
        "name": container.name,
        "state": _state(container),
        "lastState": _last_state(container),
        "ready": running or container.kind is ContainerKind.INIT,
        "restartCount": container.restarts,
        "image": container.image,
        "imageID": f"{container.image}@sha256:{digest}" if started else "",
        "started": running,
    }
    if started:
        status["containerID"] = f"{RUNTIME_SCHEME}://{container.id}"
    return status


def _state(container: SimContainer) -> Json:
    if container.state is ContainerState.WAITING:
        return {"waiting": {"reason": container.waiting_reason}}
    started = timestamp(container.started)
    if container.state is ContainerState.RUNNING:
        return {"running": {"startedAt": started}}
    return {
        "terminated": {
            "exitCode": container.exit_code,
            "reason": "Error" if container.exit_code else "Completed",
            "startedAt": started,
            "finishedAt": timestamp(WallSeconds(container.started + 20)),
            "containerID": f"{RUNTIME_SCHEME}://{container.id}",
        }
    }


def _last_state(container: SimContainer) -> Json:
    if container.last_id is None:
        return {}
    before = timestamp(WallSeconds(container.started - 1))
    return {
        "terminated": {
            "exitCode": 137,
            "reason": "OOMKilled",
            "startedAt": before,
            "finishedAt": before,
            "containerID": f"{RUNTIME_SCHEME}://{container.last_id}",
        }
    }
