from __future__ import annotations

import json
from typing import Any

import pytest

from controller.cache.owners import owner_of
from controller.cache.reading import node_record, pod_record
from controller.cache.records import Owner, PodGpus
from gpupods.accounting.request import GpuRequest
from gpupods.kube.json_encoding import JsonEncoding
from gpupods.kube.objects import Node, OwnerReference, Pod


def pod(**parts: Any) -> Pod:
    metadata = {"uid": "u", "name": "web-0", "namespace": "team"} | parts.pop("metadata", {})
    return JsonEncoding(Pod).item(json.dumps({"metadata": metadata} | parts).encode())  # type: ignore[arg-type]


def container(name: str, container_id: str = "", **states: str) -> dict[str, Any]:
    ended = {state: {"terminated": {"containerID": one}} for state, one in states.items()}
    return {"name": name, "containerID": container_id} | ended


def test_a_pod_that_has_nothing_yet() -> None:
    record = pod_record(pod())
    assert (record.uid, record.namespace, record.name) == ("u", "team", "web-0")
    assert (record.node, record.phase, record.containers, record.owner) == ("", "", (), None)


def test_all_kinds_of_containers_and_their_last_runs() -> None:
    record = pod_record(
        pod(
            spec={"nodeName": "n1"},
            status={
                "phase": "Running",
                "initContainerStatuses": [
                    container("setup", "containerd://i1", state="containerd://i1"),
                    container("sidecar", "containerd://i2", lastState="containerd://i0"),
                ],
                "containerStatuses": [
                    container("main", "cri-o://m2", lastState="cri-o://m1"),
                    container("waiting"),
                ],
                "ephemeralContainerStatuses": [container("debug", "docker://e1")],
            },
        )
    )
    assert record.containers == (
        ("i1", "setup"),
        ("i2", "sidecar"),
        ("i0", "sidecar"),
        ("m2", "main"),
        ("m1", "main"),
        ("e1", "debug"),
    )
    assert (record.node, record.phase) == ("n1", "Running")


def test_strings_that_repeat_are_shared() -> None:
    one, other = (
        pod_record(pod(spec={"nodeName": "n" * 50}, metadata={"namespace": "s" * 50}))
        for _ in range(2)
    )
    assert one.node is other.node
    assert one.namespace is other.namespace


@pytest.mark.parametrize(
    ("kind", "name", "template_hash", "owner"),
    [
        ("ReplicaSet", "web-5d4f8c", "5d4f8c", Owner("Deployment", "web")),
        ("ReplicaSet", "my-web-app-5d4f8c", "5d4f8c", Owner("Deployment", "my-web-app")),
        ("ReplicaSet", "web-5d4f8c", "", Owner("ReplicaSet", "web-5d4f8c")),
        ("ReplicaSet", "web-5d4f8c", "other", Owner("ReplicaSet", "web-5d4f8c")),
        ("ReplicaSet", "web", "web", Owner("ReplicaSet", "web")),
        ("ReplicaSet", "-5d4f8c", "5d4f8c", Owner("ReplicaSet", "-5d4f8c")),
        ("ReplicaSet", "web-", "", Owner("ReplicaSet", "web-")),
        ("StatefulSet", "web-5d4f8c", "5d4f8c", Owner("StatefulSet", "web-5d4f8c")),
        ("Job", "train", "", Owner("Job", "train")),
        ("Node", "n1", "", Owner("Node", "n1")),
    ],
)
def test_owners(kind: str, name: str, template_hash: str, owner: Owner) -> None:
    references = [
        OwnerReference("Other", "not-the-controller"),
        OwnerReference(kind, name, controller=True),
    ]
    assert owner_of(references, template_hash) == owner


def test_an_owner_that_does_not_control_is_none() -> None:
    assert owner_of([OwnerReference("ConfigMap", "x", controller=False)], "") is None
    assert owner_of([], "") is None


def test_labels_and_references_are_read_from_a_pod() -> None:
    record = pod_record(
        pod(
            metadata={
                "labels": {"app": "web", "pod-template-hash": "5d4f8c"},
                "ownerReferences": [
                    {"kind": "ReplicaSet", "name": "web-5d4f8c", "controller": True}
                ],
            }
        )
    )
    assert record.owner == Owner("Deployment", "web")


def test_a_node_keeps_its_internal_addresses_in_their_order() -> None:
    node = JsonEncoding(Node).item(
        json.dumps(
            {
                "metadata": {"name": "n1", "uid": "u"},
                "status": {
                    "addresses": [
                        {"type": "Hostname", "address": "n1"},
                        {"type": "InternalIP", "address": "fd00::1"},
                        {"type": "InternalIP", "address": "10.0.0.1"},
                        {"type": "ExternalIP", "address": "198.51.100.1"},
                        {"type": "InternalIP", "address": ""},
                    ]
                },
            }
        ).encode()  # type: ignore[arg-type]
    )
    record = node_record(node)
    assert (record.name, record.uid) == ("n1", "u")
    assert record.internal_ips == ("fd00::1", "10.0.0.1")


@pytest.mark.parametrize("status", [None, {}, {"addresses": None}])
def test_a_node_without_addresses(status: Any) -> None:
    raw = json.dumps({"metadata": {"name": "n1", "uid": "u"}, "status": status}).encode()
    assert node_record(JsonEncoding(Node).item(raw)).internal_ips == ()  # type: ignore[arg-type]


def node(labels: dict[str, str] | None = None, capacity: dict[str, str] | None = None) -> Node:
    thing = {
        "metadata": {"uid": "u", "name": "n", "labels": labels},
        "status": {"capacity": capacity},
    }
    return JsonEncoding(Node).item(json.dumps(thing).encode())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("labels", "capacity", "has_gpus"),
    [
        (None, None, False),
        ({}, {"cpu": "8", "nvidia.com/gpu": "0"}, False),
        ({"nvidia.com/gpu.present": "false"}, {}, False),
        ({"nvidia.com/gpu.present": "true"}, {}, True),
        ({"gpupods.io/gpu": "true"}, {}, True),
        ({}, {"nvidia.com/gpu": "8"}, True),
        ({}, {"nvidia.com/gpu": "0", "volcano.sh/gpu-number": "8"}, True),
    ],
)
def test_whether_the_cluster_says_that_a_node_has_gpus(
    labels: dict[str, str] | None, capacity: dict[str, str] | None, *, has_gpus: bool
) -> None:
    assert node_record(node(labels, capacity)).has_gpus is has_gpus


@pytest.mark.parametrize(
    ("annotations", "kept"),
    [
        (None, (None, None)),
        ({"somebody": "else's"}, (None, None)),
        ({"volcano.sh/gpu-unhealthy-ids": "0,3"}, ("0,3", None)),
        ({"volcano.sh/gpu-unhealthy-ids": "", "gpupods.io/gpu-health": "[]"}, ("", "[]")),
    ],
)
def test_what_a_node_says_of_its_unfit_gpus_is_kept_as_it_stands(
    annotations: dict[str, str] | None, kept: tuple[str | None, str | None]
) -> None:
    raw = json.dumps({"metadata": {"uid": "u", "name": "n", "annotations": annotations}})
    record = node_record(JsonEncoding(Node).item(raw.encode()))  # type: ignore[arg-type]
    assert (record.unhealthy_ids, record.gpu_health) == kept


def test_what_a_pod_asks_for_and_was_given() -> None:
    asking = {"resources": {"limits": {"volcano.sh/gpu-memory": "2k", "cpu": "1"}}}
    record = pod_record(
        pod(
            metadata={"annotations": {"volcano.sh/gpu-index": "3", "other": "x"}},
            spec={"containers": [{"name": "plain"}, asking, asking], "nodeName": "n1"},
        )
    )
    assert record.gpus == PodGpus(GpuRequest(4000, 0), "3")


def test_a_sidecar_is_counted_beside_the_others() -> None:
    limits = {"resources": {"limits": {"volcano.sh/gpu-number": 1}}}
    record = pod_record(
        pod(
            spec={
                "initContainers": [limits | {"restartPolicy": "Always"}, limits],
                "containers": [limits],
            }
        )
    )
    assert record.gpus == PodGpus(GpuRequest(0, 2))


def test_a_pod_without_gpus_keeps_nothing_of_them() -> None:
    asking = {"resources": {"limits": {"cpu": "1", "volcano.sh/gpu-memory": "0"}}}
    given = {"annotations": {"volcano.sh/gpu-index": "3"}}
    assert pod_record(pod(metadata=given, spec={"containers": [asking, {}]})).gpus is None


def test_a_limit_that_cannot_be_read_is_told() -> None:
    asking = {"resources": {"limits": {"volcano.sh/gpu-memory": "much"}}}
    gpus = pod_record(pod(spec={"containers": [asking]})).gpus
    assert gpus is not None
    assert gpus.problem.startswith("its limit of volcano.sh/gpu-memory: 'much' is no quantity")
