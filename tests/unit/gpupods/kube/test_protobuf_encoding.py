"""The protobuf encoding against answers made field by field, cut wherever the network may."""

from __future__ import annotations

import json
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupods.accounting.names import GPU_INDEX, GPU_MEMORY
from gpupods.kube.encoding import Event, Identity, Status, UndecodableError
from gpupods.kube.failures import MalformedError
from gpupods.kube.from_protobuf import node_from_protobuf, pod_from_protobuf
from gpupods.kube.json_encoding import MAX_EVENT_BYTES, JsonEncoding
from gpupods.kube.objects import (
    ContainerState,
    ContainerStateTerminated,
    Node,
    Pod,
    PodAnnotations,
    PodLabels,
)
from gpupods.kube.protobuf_encoding import MAGIC, ProtobufEncoding, ProtobufFrames
from gpupods.kube_api import objects_pb2

PODS: ProtobufEncoding[objects_pb2.Pod, Pod] = ProtobufEncoding(objects_pb2.Pod, pod_from_protobuf)
NODES: ProtobufEncoding[objects_pb2.Node, Node] = ProtobufEncoding(
    objects_pb2.Node, node_from_protobuf
)


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def wrapped(raw: bytes) -> bytes:
    """As the API server sends it: type before, content type after."""
    kind = field(1, field(1, b"v1") + field(2, b"PodList"))
    return MAGIC + kind + field(2, raw) + field(3, b"") + field(4, b"")


def a_list(items: list[bytes], version: bytes = b"7", token: bytes = b"next") -> bytes:
    metadata = field(1, field(1, b"") + field(2, version) + field(3, token))
    return wrapped(metadata + b"".join(field(2, item) for item in items))


@given(
    st.lists(st.binary(max_size=300), max_size=8),
    st.lists(st.integers(1, 200), min_size=1, max_size=20),
)
def test_items_are_found_wherever_a_list_is_cut(items: list[bytes], sizes: list[int]) -> None:
    body, found, turn = a_list(items), [], 0
    reader = PODS.page_reader()
    while body:
        size = sizes[turn % len(sizes)]
        found += reader.feed(body[:size])
        body, turn = body[size:], turn + 1
    page = reader.finish()
    assert found == items
    assert (page.version, page.continue_token, page.items) == ("7", "next", [])


@given(st.integers(0, 10_000))
def test_a_list_that_ends_early_is_no_list(kept: int) -> None:
    body = a_list([b"x" * 100, b"y" * 50])
    needed = len(body) - len(field(3, b"") + field(4, b""))
    reader = PODS.page_reader()
    reader.feed(body[: min(kept, needed - 1)])
    with pytest.raises(MalformedError, match="ends before its end"):
        reader.finish()


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        MAGIC + varint(2 << 3 | 0) + b"\x01",
        MAGIC + b"\xff" * 30,
        wrapped(b"\xff" * 30),
        wrapped(field(1, b"\xff\xff")),
        MAGIC + varint(2 << 3 | 2) + varint(3) + field(2, b"longer than three"),
    ],
)
def test_what_is_no_list(body: bytes) -> None:
    reader = PODS.page_reader()
    with pytest.raises(MalformedError):  # noqa: PT012 - it may show at either
        reader.feed(body)
        reader.finish()


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_a_page_or_malformed(body: bytes, magic: bool) -> None:  # noqa: FBT001
    reader = PODS.page_reader()
    try:
        reader.feed(MAGIC + body if magic else body)
        page = reader.finish()
    except MalformedError:
        return
    assert magic
    assert page.items == []


@given(
    st.lists(st.binary(max_size=50), max_size=8),
    st.lists(st.integers(1, 60), min_size=1, max_size=20),
)
def test_frames_are_found_wherever_the_stream_is_cut(frames: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(struct.pack(">I", len(frame)) + frame for frame in frames)
    cutter, found, turn = ProtobufFrames(), [], 0
    while stream:
        size = sizes[turn % len(sizes)]
        found += cutter.feed(stream[:size])
        stream, turn = stream[size:], turn + 1
    assert found == frames


def test_a_frame_that_no_event_can_fill() -> None:
    with pytest.raises(MalformedError):
        ProtobufFrames().feed(struct.pack(">I", MAX_EVENT_BYTES + 1))


def test_an_event_and_its_object() -> None:
    pod = full_pod()
    event = PODS.event(field(1, b"MODIFIED") + field(2, field(1, wrapped(pod.SerializeToString()))))
    assert event == Event("MODIFIED", pod.SerializeToString())
    assert PODS.identity(event.item) == Identity("u", "web-0", "9")
    read = PODS.item(event.item)
    assert (read.metadata.uid, read.metadata.namespace) == ("u", "team")
    assert read.metadata.labels == PodLabels("abc")
    assert read.metadata.owner_references is not None
    assert read.metadata.owner_references[0].controller
    assert read.spec is not None
    assert read.spec.node_name == "n1"
    assert read.status is not None
    assert read.status.container_statuses is not None
    (main,) = read.status.container_statuses
    assert (main.name, main.container_id, main.state) == ("main", "containerd://c2", None)
    assert main.last_state == ContainerState(ContainerStateTerminated("containerd://c1"))
    assert read.status.init_container_statuses == ()


def full_pod() -> objects_pb2.Pod:
    return objects_pb2.Pod(
        metadata=objects_pb2.ObjectMeta(
            name="web-0",
            namespace="team",
            uid="u",
            resource_version="9",
            labels={"app": "web", "pod-template-hash": "abc"},
            owner_references=[
                objects_pb2.OwnerReference(kind="ReplicaSet", name="web-abc", controller=True)
            ],
        ),
        spec=objects_pb2.PodSpec(node_name="n1"),
        status=objects_pb2.PodStatus(
            phase="Running",
            container_statuses=[
                objects_pb2.ContainerStatus(
                    name="main",
                    container_id="containerd://c2",
                    last_state=objects_pb2.ContainerState(
                        terminated=objects_pb2.ContainerStateTerminated(
                            container_id="containerd://c1"
                        )
                    ),
                )
            ],
        ),
    )


def test_a_pod_with_gpus_is_what_json_makes_of_it() -> None:
    limits = {
        GPU_MEMORY: objects_pb2.Quantity(string="2k"),
        "cpu": objects_pb2.Quantity(string="1"),
    }
    asking = objects_pb2.Container(
        resources=objects_pb2.ResourceRequirements(limits=limits), restart_policy="Always"
    )
    plain = objects_pb2.Container()
    message = full_pod()
    message.metadata.annotations.update({GPU_INDEX: "3", "other": "x"})
    message.spec.containers.extend([plain, asking])
    message.spec.init_containers.extend([asking, plain])
    read = PODS.item(message.SerializeToString())
    as_json = {"resources": {"limits": {GPU_MEMORY: "2k", "cpu": "1"}}, "restartPolicy": "Always"}
    by_json = JsonEncoding(Pod).item(
        msgspec.Raw(
            json.dumps(
                {
                    "metadata": {
                        "name": "web-0",
                        "namespace": "team",
                        "uid": "u",
                        "annotations": {GPU_INDEX: "3", "other": "x"},
                    },
                    "spec": {"containers": [as_json], "initContainers": [as_json]},
                }
            ).encode()
        )
    )
    assert read.metadata.annotations == by_json.metadata.annotations == PodAnnotations("3")
    assert read.spec is not None
    assert by_json.spec is not None
    assert read.spec.containers == by_json.spec.containers
    assert read.spec.init_containers == by_json.spec.init_containers


@pytest.mark.parametrize("item", [b"", field(1, b""), field(1, field(5, b"u")), b"\xff\xff"])
def test_objects_without_an_identity_are_undecodable(item: bytes) -> None:
    with pytest.raises(UndecodableError):
        PODS.item(item)
    with pytest.raises(UndecodableError):
        NODES.item(item)


def test_a_node() -> None:
    message = objects_pb2.Node(
        metadata=objects_pb2.NodeMeta(
            name="n1",
            uid="u",
            resource_version="9",
            labels={"gpupods.io/gpu": "true"},
            annotations={"volcano.sh/gpu-unhealthy-ids": "0,3"},
        ),
        status=objects_pb2.NodeStatus(
            addresses=[objects_pb2.NodeAddress(type="InternalIP", address="fd00::1")],
            capacity={"nvidia.com/gpu": objects_pb2.Quantity(string="8")},
        ),
    )
    node = NODES.item(message.SerializeToString())
    assert (node.metadata.name, node.metadata.uid) == ("n1", "u")
    assert node.status is not None
    assert node.status.addresses is not None
    assert node.status.addresses[0].address == "fd00::1"
    assert node.metadata.labels == {"gpupods.io/gpu": "true"}
    assert node.metadata.annotations == {"volcano.sh/gpu-unhealthy-ids": "0,3"}
    assert node.status.capacity == {"nvidia.com/gpu": "8"}


def test_a_refusal_and_an_error_event() -> None:
    raw = objects_pb2.Status(code=410, reason="Expired", message="old").SerializeToString()
    assert PODS.refusal(wrapped(raw)) == Status(410, "Expired", "old")
    assert PODS.status(raw) == Status(410, "Expired", "old")


@pytest.mark.parametrize("body", [b"", b"not wrapped", MAGIC + b"\xff\xff", wrapped(b"\xff")])
def test_a_refusal_that_cannot_be_read_is_empty(body: bytes) -> None:
    assert PODS.refusal(body) == Status()


@pytest.mark.parametrize("frame", [b"\xff", field(1, b"ADDED"), field(2, field(1, b"bare"))])
def test_what_is_no_event(frame: bytes) -> None:
    with pytest.raises(MalformedError):
        PODS.event(frame)
